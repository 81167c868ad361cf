# SPDX-License-Identifier: Apache-2.0
"""The client."""

from __future__ import annotations

import json
from typing import Any, Callable, Mapping, Optional

from ._operations import Operations
from ._pages import Page, Pages
from ._stream import AlertStream, Gap
from ._transport import Transport


class Vigil(Operations):
    """
    A client of the API. Each operation of the OpenAPI document is a method, which returns what data of the answer
    has, and raises an APIError for an answer that is no success. It may be used by several threads.

    Requests that may be sent twice are, up to max_retries times: GET, and what takes an Idempotency-Key, after an
    error of the connection; those and PUT and DELETE after 503; all after 429. Retry-After is kept.
    """

    def __init__(
        self,
        url: Optional[str] = None,
        api_key: Optional[str] = None,
        *,
        timeout: Optional[float] = None,
        max_retries: int = 3,
        max_retry_wait: float = 60.0,
    ) -> None:
        """
        url and api_key default to VIGIL_URL and VIGIL_API_KEY. timeout is how long the server may be silent, in
        seconds: 30, and 100 for tests and applies. A Retry-After above max_retry_wait, in seconds, raises at once.
        """
        self._transport = Transport(url, api_key, timeout, max_retries, max_retry_wait)

    def stream_alerts(
        self,
        *,
        since: Optional[str] = None,
        on_gap: Optional[Callable[[Gap], None]] = None,
        reconnect: Optional[float] = None,
    ) -> AlertStream:
        """
        Follows the alert stream of the organization, with for or async for. It begins after the position since, with
        all that is kept for "0-0", and now without it. What is not kept any more raises a GapError, or is given to
        on_gap. reconnect is how long to wait before a lost connection is made again, in seconds; without it, what
        the server says.
        """
        return AlertStream(self._transport, since, on_gap, reconnect)

    def request(
        self, method: str, path: str, *, body: Any = None, query: Optional[Mapping[str, Any]] = None, **options: Any
    ) -> Any:
        """Sends a request of your own, with the key and the retries of the client, and returns the whole answer."""
        answer = self._transport.send(method, path, body=body, query=query, **options)
        return json.loads(answer.body) if answer.body else None

    def _call(self, method: str, path: str, **sent: Any) -> Any:
        answer = self._transport.send(method, path, **sent)
        if sent.get("text"):
            return answer.body.decode()
        return json.loads(answer.body)["data"] if answer.body else None

    def _list(self, path: str, query: Mapping[str, Any], timeout: Optional[float]) -> Pages[Any]:
        def page(at: Mapping[str, Any]) -> Page[Any]:
            answer = json.loads(self._transport.send("GET", path, query={**query, **at}, timeout=timeout).body)
            return Page(answer["data"], answer["meta"])

        return Pages(page)
