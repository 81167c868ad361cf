# SPDX-License-Identifier: Apache-2.0
"""The alert stream."""

from __future__ import annotations

import asyncio
import codecs
import http.client
import json
import random
import re
import socket
import threading
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional

from ._errors import APIError, VigilConnectionError, VigilError, error_of
from ._transport import Transport

_SILENCE = 90.0  # after so long without a byte a connection is lost: the server sends one at least every 30 s
_CONNECT = 30.0
_RECONNECT = 3.0
_RECONNECT_MOST = 30.0
_EVENT_MOST = 1 << 20  # characters
_LINE_END = re.compile(r"\r\n|\n|\r(?!\Z)")  # a carriage return at the end may be the first half of one


class StreamEvent(NamedTuple):
    """An event of the alert stream."""

    id: str
    """Its position: since of a later stream, which then begins after it."""
    type: str
    """Such as incident.triggered; docs/subscriptions.md has all of them."""
    data: Dict[str, Any]
    """The body of a webhook: id, type, version, timestamp and data."""


class Gap(NamedTuple):
    """Events between requested and oldest are not kept any more; where oldest is None, none is kept."""

    requested: str
    oldest: Optional[str]


class GapError(VigilError):
    """Events between the position that a stream was to begin after and now are not kept any more."""

    def __init__(self, gap: Gap) -> None:
        super().__init__(f"The events after {gap.requested} are not kept any more.")
        self.gap = gap


class Frame:
    """A frame of server-sent events."""

    def __init__(self) -> None:
        self.id: Optional[str] = None
        self.event = ""
        self.data: Optional[str] = None
        self.retry: Optional[int] = None


class FrameParser:
    """Takes a text apart into the frames of server-sent events (HTML, section 9.2.6), in parts of any length."""

    def __init__(self) -> None:
        self._rest = ""
        self._frame = Frame()
        self._size = 0

    def push(self, text: str) -> List[Frame]:
        """Returns the frames that are complete now."""
        frames = []
        lines = _LINE_END.split(self._rest + text)
        self._rest = lines.pop()
        for line in lines:
            self._size += len(line)
            if line:
                self._field(line)
                continue
            frame = self._frame
            if frame.id is not None or frame.data is not None or frame.retry is not None:
                frames.append(frame)
            self._frame, self._size = Frame(), 0
        if self._size + len(self._rest) > _EVENT_MOST:
            raise VigilConnectionError("An event of the stream is too long.")
        return frames

    def _field(self, line: str) -> None:
        name, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if name == "data":
            self._frame.data = value if self._frame.data is None else f"{self._frame.data}\n{value}"
        elif name == "event":
            self._frame.event = value
        elif name == "id" and "\0" not in value:
            self._frame.id = value
        elif name == "retry" and value.isascii() and value.isdigit():
            self._frame.retry = int(value)


class AlertStream:
    """
    Follows the alert stream of the organization, with for, or with async for in a thread of its own. When the
    connection is lost it is made again after the last event, so that no event is missed or repeated. close(), from
    any thread, ends it and with it the loop that reads it.
    """

    def __init__(
        self,
        transport: Transport,
        since: Optional[str],
        on_gap: Optional[Callable[[Gap], None]],
        reconnect: Optional[float],
    ) -> None:
        self._transport = transport
        self._since = since
        self._on_gap = on_gap
        self._reconnect = reconnect
        self._wait = _RECONNECT if reconnect is None else reconnect
        self._closed = threading.Event()
        self._socket: Optional[socket.socket] = None
        self._connected = False  # there was a connection, or there is one now
        self._working = False
        self._events = self._follow()

    def __iter__(self) -> AlertStream:
        return self

    def __next__(self) -> StreamEvent:
        return next(self._events)

    def __aiter__(self) -> AlertStream:
        return self

    async def __anext__(self) -> StreamEvent:
        try:
            event = await asyncio.to_thread(next, self._events, None)
        except asyncio.CancelledError:
            self.close()
            raise
        if event is None:
            raise StopAsyncIteration
        return event

    def __enter__(self) -> AlertStream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> AlertStream:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the stream."""
        self._closed.set()
        connected = self._socket
        if connected is not None:
            try:
                connected.shutdown(socket.SHUT_RDWR)  # wakes the thread that reads
            except OSError:
                pass  # it is gone already

    def _follow(self) -> Iterator[StreamEvent]:
        failures = 0
        while not self._closed.is_set():
            asked = 0.0
            self._working = False
            try:
                yield from self._connection()
            except (VigilConnectionError, APIError) as error:
                if self._closed.is_set():
                    return
                passing = not isinstance(error, APIError) or error.status == 429 or error.status >= 500
                if not passing or (not self._connected and failures >= self._transport.max_retries):
                    raise
                if isinstance(error, APIError):
                    asked = error.retry_after or 0.0
            failures = 0 if self._working else failures + 1
            wait = min(self._wait * 2 ** min(failures, 10), max(_RECONNECT_MOST, self._wait))
            self._closed.wait(max(wait * (0.5 + random.random() / 2), asked))

    def _connection(self) -> Iterator[StreamEvent]:
        """Reads one connection until it ends."""
        headers = self._transport.headers({"Accept": "text/event-stream"})
        if self._since is not None:
            headers["Last-Event-ID"] = self._since
        connection, prefix = self._transport.connect(_CONNECT)
        try:
            connection.connect()
            connection.sock.settimeout(_SILENCE)
            self._socket = connection.sock
            connection.request("GET", prefix + "/v1/stream/alerts", headers=headers)
            response = connection.getresponse()
            if response.status != 200:
                raise error_of(response.status, response.headers, response.read())
            self._connected = True
            parser, decoder = FrameParser(), codecs.getincrementaldecoder("utf-8")("replace")
            while not self._closed.is_set():
                part = response.read1(1 << 16)
                if not part:
                    return
                for frame in parser.push(decoder.decode(part)):
                    yield from self._received(frame)
                    if self._closed.is_set():
                        return
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise VigilConnectionError(f"The alert stream broke off: {error or type(error).__name__}") from error
        finally:
            self._socket = None
            connection.close()

    def _received(self, frame: Frame) -> Iterator[StreamEvent]:
        if frame.retry is not None and self._reconnect is None:
            self._wait = frame.retry / 1000
        if frame.id is not None:
            self._since = frame.id
        self._working = True
        if frame.data is None:
            return
        data = json.loads(frame.data)
        if frame.event != "stream.gap":
            yield StreamEvent(self._since or "", frame.event, data)
            return
        gap = Gap(data["requested"], data["oldest"])
        if self._on_gap is None:
            raise GapError(gap)
        self._on_gap(gap)
