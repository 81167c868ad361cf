# SPDX-License-Identifier: Apache-2.0
"""A client of the API of Vigil, a monitoring platform."""

from . import types
from ._client import Vigil
from ._errors import (
    APIError,
    ConflictError,
    ForbiddenError,
    InvalidRequestError,
    NotFoundError,
    PlanLimitError,
    PreconditionFailedError,
    RateLimitedError,
    UnauthorizedError,
    UnavailableError,
    VigilConnectionError,
    VigilError,
    VigilTimeoutError,
)
from ._pages import Page, Pages
from ._stream import AlertStream, Gap, GapError, StreamEvent
from ._transport import VERSION as __version__
from ._webhook import WebhookVerificationError, verify_service_signature, verify_signature, verify_webhook

__all__ = [
    "APIError",
    "AlertStream",
    "ConflictError",
    "ForbiddenError",
    "Gap",
    "GapError",
    "InvalidRequestError",
    "NotFoundError",
    "Page",
    "Pages",
    "PlanLimitError",
    "PreconditionFailedError",
    "RateLimitedError",
    "StreamEvent",
    "UnauthorizedError",
    "UnavailableError",
    "Vigil",
    "VigilConnectionError",
    "VigilError",
    "VigilTimeoutError",
    "WebhookVerificationError",
    "__version__",
    "types",
    "verify_service_signature",
    "verify_signature",
    "verify_webhook",
]
