# SPDX-License-Identifier: Apache-2.0
"""Verifies what webhook channels send."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from typing import Any, Dict, Iterable, Optional, Protocol, Tuple, Union

from ._errors import VigilError


class Headers(Protocol):
    """The headers of a request: a dictionary, or what a web framework has."""

    def items(self) -> Iterable[Tuple[str, str]]: ...


class WebhookVerificationError(VigilError):
    """A message is not signed with the secret, or was sent at another time."""


def verify_webhook(
    body: Union[str, bytes], headers: Headers, secret: str, *, tolerance: float = 300, now: Optional[float] = None
) -> Dict[str, Any]:
    """
    Verifies a message of a webhook channel by its webhook-signature (Standard Webhooks), and returns its body.
    Give it the body as it was received. During a rotation it verifies with the old secret and with the new one.
    A webhook-id that came before is a repetition: answer 2xx, and do nothing.
    tolerance is how far the time of the message may be off, in seconds; now is in seconds since 1970.
    """
    verify_signature(body, headers, secret, tolerance=tolerance, now=now)
    envelope: Dict[str, Any] = json.loads(body)
    return envelope


def verify_signature(
    body: Union[str, bytes], headers: Headers, secret: str, *, tolerance: float = 300, now: Optional[float] = None
) -> None:
    """Verifies a message as verify_webhook does, with a body that need not be JSON, such as that of a template."""
    identifier, timestamp = _header(headers, "webhook-id"), _header(headers, "webhook-timestamp")
    at = time.time() if now is None else now
    if not (timestamp.isascii() and timestamp.isdigit()) or abs(at - int(timestamp)) > tolerance:
        raise WebhookVerificationError("webhook-timestamp is missing, or too far off.")
    key = secret.encode()
    if secret.startswith("whsec_"):
        try:
            key = base64.b64decode(secret[6:], validate=True)
        except binascii.Error as error:
            raise WebhookVerificationError("The secret does not go on in base64 after whsec_.") from error
    signed = f"{identifier}.{timestamp}.".encode() + _bytes(body)
    right = b"v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
    if not any(hmac.compare_digest(given.encode(), right) for given in _header(headers, "webhook-signature").split()):
        raise WebhookVerificationError("No signature in webhook-signature is right.")


def verify_service_signature(body: Union[str, bytes], headers: Headers, secret: str) -> None:
    """
    Verifies a message by its X-Service-Signature, or by that of the secret that a rotation replaced. It signs no
    time, so a message that somebody recorded passes it: prefer verify_webhook.
    """
    right = b"sha256=" + hmac.new(secret.encode(), _bytes(body), hashlib.sha256).hexdigest().encode()
    for name in ("x-service-signature", "x-service-signature-previous"):
        if hmac.compare_digest(_header(headers, name).encode(), right):
            return
    raise WebhookVerificationError("X-Service-Signature is not right.")


def _header(headers: Headers, name: str) -> str:
    for key, value in headers.items():
        if key.lower() == name:
            return value
    return ""


def _bytes(body: Union[str, bytes]) -> bytes:
    return body.encode() if isinstance(body, str) else body
