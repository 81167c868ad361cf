# SPDX-License-Identifier: Apache-2.0
"""What the client raises."""

from __future__ import annotations

import json
import time
from email.message import Message
from email.utils import parsedate_to_datetime
from typing import Any, Dict, Optional, Type


class VigilError(Exception):
    """Everything that the client raises of its own."""


class VigilConnectionError(VigilError):
    """The server could not be reached, or its answer broke off."""


class VigilTimeoutError(VigilConnectionError):
    """The server did not answer in time."""


class APIError(VigilError):
    """An answer of the API that is no success. The classes below name the codes that programs ask for."""

    def __init__(
        self,
        message: str,
        *,
        status: int,
        code: str = "",
        details: Optional[Dict[str, Any]] = None,
        request_id: str = "",
        retry_after: Optional[float] = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.code = code
        """What went wrong, for a program; "" for an answer that is not the API's own, such as that of a proxy."""
        self.details: Dict[str, Any] = details or {}
        member = self.details.get("member")
        self.member: Optional[str] = member if isinstance(member, str) else None
        """The member of the request that is wrong, such as config.url."""
        self.request_id = request_id
        """Names the request in the log of the server."""
        self.retry_after = retry_after
        """How long the server asks to wait, in seconds."""


class InvalidRequestError(APIError):
    """The request is wrong; member says which part of it."""


class UnauthorizedError(APIError):
    """The key is missing, revoked or expired."""


class ForbiddenError(APIError):
    """The key lacks a scope."""


class PlanLimitError(ForbiddenError):
    """The plan does not allow it; details has limit, current and requested."""


class NotFoundError(APIError):
    """It does not exist in this organization."""


class ConflictError(APIError):
    """The request conflicts with the current state."""


class PreconditionFailedError(APIError):
    """The resource has another revision than if_match; details["revision"] has it."""


class RateLimitedError(APIError):
    """Too many requests, also after the client repeated it."""


class UnavailableError(APIError):
    """A part of the platform does not answer, also after the client repeated the request."""


_CLASSES: Dict[str, Type[APIError]] = {
    "invalid_request": InvalidRequestError,
    "unauthorized": UnauthorizedError,
    "forbidden": ForbiddenError,
    "plan_limit": PlanLimitError,
    "not_found": NotFoundError,
    "conflict": ConflictError,
    "precondition_failed": PreconditionFailedError,
    "rate_limited": RateLimitedError,
    "unavailable": UnavailableError,
}

# What a proxy in between answers has no code of the API: its status says the same.
_CODES = {401: "unauthorized", 403: "forbidden", 404: "not_found", 429: "rate_limited", 503: "unavailable"}


def error_of(status: int, headers: Message, text: bytes) -> APIError:
    """Returns the error of an answer."""
    try:
        body = json.loads(text)
    except ValueError:
        body = {}  # the answer of a proxy
    if not isinstance(body, dict):
        body = {}
    code = body.get("code") or ""
    kind = _CLASSES.get(code or _CODES.get(status, ""), APIError)
    return kind(
        body.get("error") or f"The server answered with status {status}.",
        status=status,
        code=code,
        details=body.get("details"),
        request_id=body.get("request_id") or headers.get("X-Request-Id") or "",
        retry_after=retry_after(headers.get("Retry-After"), time.time()),
    )


def retry_after(text: Optional[str], now: float) -> Optional[float]:
    """Returns how long a Retry-After asks to wait, in seconds; None where it does not."""
    if text is None:
        return None
    text = text.strip()
    if text.isascii() and text.isdigit():
        return float(min(int(text), 2**31))
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now)
    except (TypeError, ValueError, IndexError):
        return None
