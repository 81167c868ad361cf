# SPDX-License-Identifier: Apache-2.0
"""The vectors of docs/webhooks.md, which the platform's own tests hold to what it sends."""

import base64
import hashlib
import hmac
import json
import pathlib
import re
import unittest

from vigil_client import WebhookVerificationError, verify_service_signature, verify_signature, verify_webhook

PAGE = pathlib.Path(__file__).parents[3] / "docs" / "webhooks.md"
NOW = 1_800_000_000


class TestWebhook(unittest.TestCase):
    def test_vectors(self):
        vectors = json.loads(re.search(r"```json\n(\[.*?\])\n```", PAGE.read_text(encoding="utf-8"), re.S).group(1))
        self.assertGreaterEqual(sum(vector["valid"] for vector in vectors), 5)
        self.assertGreaterEqual(sum(not vector["valid"] for vector in vectors), 5)
        for vector in vectors:
            headers = {
                "Webhook-Id": vector["id"],
                "webhook-timestamp": vector["timestamp"],
                "webhook-signature": vector["signature"],
            }
            for body in (vector["body"], vector["body"].encode()):
                with self.subTest(vector["what"], kind=type(body)):
                    if vector["valid"]:
                        self.assertEqual(verify_webhook(body, headers, vector["secret"], now=NOW), json.loads(vector["body"]))
                    else:
                        with self.assertRaises(WebhookVerificationError):
                            verify_webhook(body, headers, vector["secret"], now=NOW)

    def test_a_body_that_is_not_json(self):
        mac = hmac.new(b"secret", f"id.{NOW}.text=1".encode(), hashlib.sha256).digest()
        signature = "v1," + base64.b64encode(mac).decode()
        headers = {"webhook-id": "id", "webhook-timestamp": str(NOW), "webhook-signature": signature}
        verify_signature("text=1", headers, "secret", now=NOW)
        for secret, now in (("whsec_*", NOW), ("secret", None)):
            with self.assertRaises(WebhookVerificationError):
                verify_signature("text=1", headers, secret, now=now)

    def test_the_signature_of_the_service(self):
        def sign(secret):
            return "sha256=" + hmac.new(secret, b"{}", hashlib.sha256).hexdigest()

        headers = {"X-Service-Signature": sign(b"whsec_bmV3"), "X-Service-Signature-Previous": sign(b"old")}
        verify_service_signature("{}", headers, "whsec_bmV3")
        verify_service_signature(b"{}", headers, "old")
        for wrong in ({}, {"X-Service-Signature": "sha256=00"}, {"X-Service-Signature": sign(b"other")}):
            with self.assertRaises(WebhookVerificationError):
                verify_service_signature("{}", wrong, "old")


if __name__ == "__main__":
    unittest.main()
