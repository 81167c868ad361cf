# SPDX-License-Identifier: Apache-2.0
"""
The client against a platform, whose address and key are in VIGIL_URL and VIGIL_API_KEY. In between is a proxy that
loses the first answer to each request that creates a check, and cuts each stream after its first event.
"""

import http.server
import os
import threading
import unittest

from vigil_client import InvalidRequestError, NotFoundError, Vigil, WebhookVerificationError
from vigil_client import verify_service_signature, verify_webhook

PREFIX = os.environ.get("VIGIL_TEST_PREFIX", "python")


@unittest.skipUnless(os.environ.get("VIGIL_URL"), "VIGIL_URL names no platform")
class TestPlatform(unittest.TestCase):
    def setUp(self):
        self.client = Vigil()

    def create(self, name):
        return self.client.create_check(
            {
                "name": f"{PREFIX} {name}",
                "type": "http",
                "config": {"url": "http://127.0.0.1:1/"},
                "interval_seconds": 3600,
                "enabled": False,
                "labels": {"client": PREFIX},
            }
        )

    def test_creates_each_check_once_and_lists_them_over_pages(self):
        made = [self.create(name)["id"] for name in ("one", "two", "three")]
        listed = [check["id"] for check in self.client.list_checks(limit=2, label=[f"client={PREFIX}"])]
        self.assertEqual(listed, made[::-1])
        for identifier in made:
            self.client.delete_check(identifier)

    def test_has_the_error_of_what_does_not_exist(self):
        with self.assertRaises(NotFoundError) as raised:
            self.client.get_check("00000000-0000-4000-8000-000000000000")
        self.assertEqual(raised.exception.code, "not_found")
        self.assertTrue(raised.exception.request_id)
        with self.assertRaises(InvalidRequestError) as invalid:
            self.client.create_check({"name": "x", "type": "http", "config": {}, "interval_seconds": 60})
        self.assertEqual(invalid.exception.member, "config.url")

    def test_follows_the_stream_over_connections_that_are_cut(self):
        check = self.create("streamed")["id"]
        self.client.update_check(check, {"enabled": True})
        since = next(self.client.stream_alerts(since="0-0", reconnect=0.02)).id
        for enabled in (False, True, False):
            self.client.update_check(check, {"enabled": enabled})
        seen = []
        with self.client.stream_alerts(since=since, reconnect=0.02) as stream:
            for event in stream:
                if event.data["data"].get("check", {}).get("id") == check:
                    seen.append(event.type)
                if len(seen) == 3:
                    stream.close()
        self.assertEqual(seen, ["check.paused", "check.resumed", "check.paused"])
        self.client.delete_check(check)

    def test_verifies_a_webhook_that_the_platform_sends(self):
        received = []
        arrived = threading.Event()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                received.append((self.headers, self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(204)
                self.end_headers()
                arrived.set()

            def log_message(self, *_):
                pass

        server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        self.addCleanup(server.server_close)
        self.addCleanup(thread.join)
        self.addCleanup(server.shutdown)
        secret = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
        config = {"url": f"http://127.0.0.1:{server.server_port}/", "secret": secret}
        channel = self.client.create_notification_channel({"name": f"{PREFIX} hook", "type": "webhook", "config": config})
        self.client.test_notification_channel(channel["id"])
        self.assertTrue(arrived.wait(60))
        headers, body = received[0]
        self.assertEqual(verify_webhook(body, headers, secret)["type"], "channel.test")
        verify_service_signature(body, headers, secret)
        with self.assertRaises(WebhookVerificationError):
            verify_webhook(body, headers, secret + "x")
        self.client.delete_notification_channel(channel["id"])


if __name__ == "__main__":
    unittest.main()
