# SPDX-License-Identifier: Apache-2.0
"""The client against servers on loopback that fail in ways that a platform does not at will."""

import asyncio
import http.server
import json
import threading
import time
import unittest

from vigil_client import (
    APIError,
    GapError,
    InvalidRequestError,
    NotFoundError,
    RateLimitedError,
    UnauthorizedError,
    Vigil,
    VigilConnectionError,
    VigilTimeoutError,
)
from vigil_client._errors import retry_after
from vigil_client._stream import FrameParser

CHECK = {"name": "Shop", "type": "https", "config": {"url": "https://shop.example/"}, "interval_seconds": 60}


def answer(status, body, headers=None):
    def write(request):
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        request.send_response(status)
        for name, value in {"Content-Length": str(len(text)), **(headers or {})}.items():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(text)

    return write


def fails(status, code, headers=None, details=None):
    return answer(status, {"error": "No.", "code": code, "request_id": "r1", "details": details or {}}, headers)


def cut(request):
    """Closes the connection without an answer."""


def streams(text, hold=False):
    def write(request):
        request.send_response(200)
        request.send_header("Content-Type", "text/event-stream")
        request.end_headers()
        request.wfile.write(text.encode())
        request.wfile.flush()
        if hold:
            request.rfile.read(1)  # until the client leaves

    return write


def event(identifier):
    return f'id: {identifier}\nevent: check.paused\ndata: {{"id":"e{identifier}","data":{{}}}}\n\n'


CREATED = answer(201, {"data": {"id": "c1", "name": "Shop"}})


class ClientTest(unittest.TestCase):
    def serve(self, *answers, **options):
        """Starts a server that answers its requests in turn, the last one again and again."""
        requests = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def handle_request(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                requests.append((self.command, self.path, self.headers, body, time.monotonic()))
                answers[min(len(requests), len(answers)) - 1](self)
                self.close_connection = True

            do_GET = do_POST = do_PUT = do_DELETE = handle_request

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        self.addCleanup(server.server_close)
        self.addCleanup(thread.join)
        self.addCleanup(server.shutdown)
        return Vigil(f"http://127.0.0.1:{server.server_port}/", "vgl_test", **options), requests

    def test_repeats_what_creates_with_the_same_key(self):
        client, requests = self.serve(cut, fails(503, "unavailable", {"Retry-After": "1"}), fails(429, "rate_limited"), CREATED)
        self.assertEqual(client.create_check(CHECK)["id"], "c1")
        self.assertEqual(len(requests), 4)
        keys = {request[2]["Idempotency-Key"] for request in requests}
        self.assertEqual(len(keys), 1)
        self.assertGreaterEqual(requests[2][4] - requests[1][4], 1, "Retry-After was kept")
        self.assertEqual(json.loads(requests[3][3]), CHECK)
        self.assertEqual(requests[3][2]["Authorization"], "Bearer vgl_test")
        client.create_check(CHECK)
        self.assertNotIn(requests[4][2]["Idempotency-Key"], keys)
        client.create_check(CHECK, idempotency_key="mine")
        self.assertEqual(requests[5][2]["Idempotency-Key"], "mine")

    def test_gives_up_after_the_last_repetition(self):
        client, requests = self.serve(fails(429, "rate_limited", {"Retry-After": "0"}))
        with self.assertRaises(RateLimitedError) as raised:
            client.get_usage()
        self.assertEqual((raised.exception.retry_after, len(requests)), (0, 4))

    def test_does_not_wait_longer_than_it_may(self):
        client, requests = self.serve(fails(503, "unavailable", {"Retry-After": "3600"}))
        with self.assertRaises(APIError) as raised:
            client.get_usage()
        self.assertEqual((raised.exception.retry_after, len(requests)), (3600, 1))

    def test_does_not_repeat_what_may_not_be_sent_twice(self):
        client, requests = self.serve(cut)
        with self.assertRaises(VigilConnectionError):
            client.delete_check("c1")
        with self.assertRaises(VigilConnectionError):
            client.login({"email": "a@example.com", "password": "x"})
        self.assertEqual(len(requests), 2)

    def test_has_typed_errors(self):
        client, _ = self.serve(
            fails(404, "not_found"),
            fails(400, "invalid_request", details={"member": "config.url"}),
            answer(404, b"<html>", {"X-Request-Id": "r2"}),
            answer(302, b"", {"Location": "http://127.0.0.1:1/"}),
        )
        with self.assertRaises(NotFoundError) as raised:
            client.get_check("c/1")
        error = raised.exception
        self.assertEqual((error.status, error.code, str(error), error.request_id), (404, "not_found", "No.", "r1"))
        with self.assertRaises(InvalidRequestError) as raised:
            client.create_check(CHECK)
        self.assertEqual(raised.exception.member, "config.url")
        with self.assertRaises(NotFoundError) as raised:
            client.get_usage()
        self.assertEqual((raised.exception.code, raised.exception.request_id), ("", "r2"))
        with self.assertRaises(APIError) as raised:
            client.get_usage()
        self.assertEqual(raised.exception.status, 302)

    def test_gives_the_parts_of_an_address(self):
        client, requests = self.serve(answer(200, {"data": {}}))
        client.update_check("a/b?c", {"name": "Shop"}, if_match=7)
        self.assertEqual((requests[0][1], requests[0][2]["If-Match"]), ("/v1/checks/a%2Fb%3Fc", '"7"'))
        client.test_check("c1", dry_run=True)
        self.assertEqual(requests[1][1], "/v1/checks/c1/test?dry_run=true")
        self.assertEqual(client.request("GET", "/v1/usage", query={"a": ["1", "2"]}), {"data": {}})
        self.assertEqual(requests[2][1], "/v1/usage?a=1&a=2")

    def test_follows_pages(self):
        client, requests = self.serve(
            answer(200, {"data": [{"id": "1"}, {"id": "2"}], "meta": {"total": "3", "next_cursor": "next"}}),
            answer(200, {"data": [{"id": "3"}], "meta": {"total": "3"}}),
            answer(200, {"data": [{"key": "a"}], "meta": {"total": "2"}}),
            answer(200, {"data": [{"key": "b"}], "meta": {"total": "2"}}),
            answer(200, {"data": [], "meta": {"total": "0"}}),
        )
        self.assertEqual([check["id"] for check in client.list_checks(limit=2, label=["team=shop", "eu"])], ["1", "2", "3"])
        self.assertEqual(requests[0][1], "/v1/checks?limit=2&label=team%3Dshop&label=eu")
        self.assertEqual(requests[1][1], "/v1/checks?limit=2&label=team%3Dshop&label=eu&cursor=next")
        self.assertEqual([region["key"] for region in client.list_regions()], ["a", "b"])
        self.assertEqual(requests[3][1], "/v1/regions?offset=1")
        self.assertEqual(client.list_checks().first().meta["total"], "0")

    def test_ends_with_its_time_limit(self):
        client, _ = self.serve(lambda request: request.rfile.read(1))
        with self.assertRaises(VigilTimeoutError):
            client.delete_check("c1", timeout=0.02)

    def test_reads_retry_after(self):
        now = 784111770  # Sun, 06 Nov 1994 08:49:30 GMT
        self.assertEqual(retry_after("7", now), 7)
        self.assertEqual(retry_after("Sun, 06 Nov 1994 08:49:37 GMT", now), 7)
        self.assertEqual(retry_after("Sun, 06 Nov 1994 08:49:00 GMT", now), 0)
        self.assertIsNone(retry_after("soon", now))
        self.assertIsNone(retry_after(None, now))

    def test_takes_frames_apart_wherever_they_are_cut(self):
        text = ': hello\r\nretry: 10\rid: 1\n\nevent: a\ndata: {"x":\ndata:1}\nid: 2\nother\n\r\ndata\n\n'
        want = [("1", "", None, 10), ("2", "a", '{"x":\n1}', None), (None, "", "", None)]
        for size in [*range(1, 7), len(text)]:
            parser, got = FrameParser(), []
            for at in range(0, len(text), size):
                got += [(f.id, f.event, f.data, f.retry) for f in parser.push(text[at : at + size])]
            self.assertEqual(got, want, f"in parts of {size}")
        with self.assertRaises(VigilConnectionError):
            FrameParser().push("data: " + "x" * (1 << 20))

    def test_goes_on_after_the_last_event_of_a_stream_that_was_cut(self):
        client, requests = self.serve(
            fails(503, "unavailable", {"Retry-After": "0"}),
            streams("retry: 1\nid: 0\n\n" + event(1) + "id: 2\nevent: check.pau"),
            cut,
            streams(event(2) + event(3), hold=True),
        )
        seen = []
        with client.stream_alerts(reconnect=0.001) as stream:
            for position, kind, data in stream:
                self.assertEqual((kind, data["id"]), ("check.paused", f"e{position}"))
                seen.append(position)
                if position == "3":
                    threading.Timer(0.01, stream.close).start()  # from another thread, while it waits
        self.assertEqual(seen, ["1", "2", "3"])
        self.assertEqual([request[2].get("Last-Event-ID") for request in requests], [None, None, "1", "1"])

    def test_follows_the_stream_in_a_thread_of_its_own(self):
        client, _ = self.serve(streams(event(1)), streams(event(2), hold=True))

        async def follow(seen):
            async with client.stream_alerts(reconnect=0.001) as stream:
                async for one in stream:
                    seen.append(one.id)
                    if one.id == "2":
                        asyncio.get_running_loop().call_soon(asyncio.current_task().cancel)

        seen = []
        with self.assertRaises(asyncio.CancelledError):
            asyncio.run(follow(seen))
        self.assertEqual(seen, ["1", "2"])

    def test_says_what_is_not_kept_any_more(self):
        gap = 'event: stream.gap\ndata: {"requested":"1-1","oldest":null}\n\n'
        client, requests = self.serve(streams(gap), streams(gap + event(9)), fails(401, "unauthorized"))
        with self.assertRaises(GapError) as raised:
            next(client.stream_alerts(since="1-1"))
        self.assertEqual((raised.exception.gap.requested, requests[0][2]["Last-Event-ID"]), ("1-1", "1-1"))
        gaps = []
        self.assertEqual(next(client.stream_alerts(since="1-1", on_gap=gaps.append)).id, "9")
        self.assertEqual(gaps, [("1-1", None)])
        with self.assertRaises(UnauthorizedError):
            next(client.stream_alerts())


if __name__ == "__main__":
    unittest.main()
