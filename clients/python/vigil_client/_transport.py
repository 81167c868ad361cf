# SPDX-License-Identifier: Apache-2.0
"""Sends requests, and repeats those that may be sent twice."""

from __future__ import annotations

import http.client
import json
import os
import random
import secrets
import socket
import time
from typing import Any, Dict, Iterable, Mapping, NamedTuple, Optional, Tuple, Union
from urllib.parse import urlencode, urlsplit
from urllib.request import getproxies, proxy_bypass

from ._errors import APIError, VigilConnectionError, VigilTimeoutError, error_of

VERSION = "0.1.0"

_STANDARD_TIMEOUT = 30.0
_LONG_TIMEOUT = 100.0  # longer than the server waits for a test by hand, or for another apply
_RETRY = 0.25  # the first wait before a request is repeated; it doubles


class Answer(NamedTuple):
    """An answer whose body was read."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes


class Transport:
    """How the client reaches a server."""

    def __init__(
        self, url: Optional[str], api_key: Optional[str], timeout: Optional[float], max_retries: int, max_retry_wait: float
    ) -> None:
        url = url or os.environ.get("VIGIL_URL")
        if not url:
            raise ValueError("Give the address of the server: Vigil(url), or VIGIL_URL.")
        self.url = url.rstrip("/")
        self._key = api_key if api_key is not None else os.environ.get("VIGIL_API_KEY", "")
        self._timeout = timeout
        self.max_retries = max_retries
        self._max_retry_wait = max_retry_wait
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is not the address of a server, such as https://vigil.example.com")
        self._scheme, self._host, self._port, self._path = parts.scheme, parts.hostname, parts.port, parts.path

    def headers(self, more: Mapping[str, str]) -> Dict[str, str]:
        """Returns the headers of a request."""
        headers = {"User-Agent": f"vigil-python/{VERSION}", **more}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        return headers

    def connect(self, timeout: float) -> Tuple[http.client.HTTPConnection, str]:
        """Returns a connection, and what the path of a request on it begins with."""
        kind = http.client.HTTPSConnection if self._scheme == "https" else http.client.HTTPConnection
        proxy = None if proxy_bypass(self._host) else getproxies().get(self._scheme)
        if not proxy:
            return kind(self._host, self._port, timeout=timeout), self._path
        parts = urlsplit(proxy if "//" in proxy else "//" + proxy)
        connection = kind(parts.hostname or "", parts.port, timeout=timeout)
        if self._scheme == "https":
            connection.set_tunnel(self._host, self._port)
            return connection, self._path
        return connection, self.url

    def send(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        query: Optional[Mapping[str, Any]] = None,
        keyed: bool = False,
        idempotency_key: Optional[str] = None,
        if_match: Optional[int] = None,
        text: bool = False,
        timeout: Optional[float] = None,
    ) -> Answer:
        """Sends a request until it is answered, and raises an error for an answer that is no success."""
        headers = self.headers({"Accept": "text/plain" if text else "application/json"})
        sent = None
        if body is not None:
            sent = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        keyed = keyed or idempotency_key is not None
        if keyed:
            headers["Idempotency-Key"] = idempotency_key or secrets.token_hex(16)
        if if_match is not None:
            headers["If-Match"] = f'"{if_match}"'
        target = path + query_of(query or {})
        limit = timeout or self._timeout or (_LONG_TIMEOUT if _slow(path) else _STANDARD_TIMEOUT)
        attempt = 0
        while True:
            try:
                return self._attempt(method, target, sent, headers, limit)
            except (APIError, VigilConnectionError) as error:
                wait = self._wait_for(error, method, keyed, attempt) if attempt < self.max_retries else None
                if wait is None:
                    raise
            time.sleep(wait)
            attempt += 1

    def _attempt(self, method: str, target: str, body: Optional[bytes], headers: Dict[str, str], timeout: float) -> Answer:
        connection, prefix = self.connect(timeout)
        try:
            connection.request(method, prefix + target, body, headers)
            response = connection.getresponse()
            answer = Answer(response.status, response.headers, response.read())
        except socket.timeout as error:
            raise VigilTimeoutError(f"No answer within {timeout:g} s.") from error
        except (OSError, http.client.HTTPException) as error:
            raise VigilConnectionError(f"{self.url} cannot be reached: {error or type(error).__name__}") from error
        finally:
            connection.close()
        if not 200 <= answer.status < 300:  # a redirect is not followed: it could lead the key elsewhere
            raise error_of(answer.status, answer.headers, answer.body)
        return answer

    def _wait_for(
        self, error: Union[APIError, VigilConnectionError], method: str, keyed: bool, attempt: int
    ) -> Optional[float]:
        """Returns how long to wait before a request is sent again; None: never."""
        safe = keyed or method == "GET"
        backoff = _RETRY * 2**attempt * (1 + random.random() / 4)
        if isinstance(error, VigilConnectionError):
            return backoff if safe else None
        asked = error.retry_after
        if asked is not None and asked > self._max_retry_wait:
            return None
        if error.status == 429:  # nothing was done
            again = True
        elif error.status == 503:  # what a PUT or a DELETE did, it does again
            again = safe or method in ("PUT", "DELETE")
        elif error.status in (502, 504):  # a proxy had no answer
            again = safe
        else:  # the first one of a request that is sent twice still runs
            again = error.status == 409 and keyed and asked is not None
        return max(backoff, asked or 0.0) if again else None


def query_of(query: Mapping[str, Any]) -> str:
    """Returns the part of an address that has the query, "" for an empty one."""
    pairs = []
    for name, value in query.items():
        several = isinstance(value, Iterable) and not isinstance(value, str)
        for one in value if several else [value]:
            if one is not None:
                pairs.append((name, str(one).lower() if isinstance(one, bool) else str(one)))
    return "?" + urlencode(pairs) if pairs else ""


def _slow(path: str) -> bool:
    return path.endswith("/test") or path in ("/v1/checks/try", "/v1/apply")
