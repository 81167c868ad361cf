# SPDX-License-Identifier: Apache-2.0
"""Lists as iterators."""

from __future__ import annotations

from typing import Any, Callable, Dict, Generic, Iterator, List, TypeVar

from .types import Meta

Row = TypeVar("Row")


class Page(Generic[Row]):
    """A page of a list."""

    def __init__(self, data: List[Row], meta: Meta) -> None:
        self.data = data
        self.meta = meta


class Pages(Generic[Row]):
    """
    A list. Iterating gives all rows, and asks for the next page when it needs it; pages() gives whole pages.
    """

    def __init__(self, page: Callable[[Dict[str, Any]], Page[Row]]) -> None:
        self._page = page

    def pages(self) -> Iterator[Page[Row]]:
        """Gives the pages one after another."""
        at: Dict[str, Any] = {}
        offset = 0
        while True:
            page = self._page(at)
            yield page
            offset += len(page.data)
            cursor = page.meta.get("next_cursor")
            if cursor is not None:
                at = {"cursor": cursor}
            elif not page.data or "cursor" in at or page.meta.get("total_capped") or offset >= int(page.meta["total"]):
                return
            else:  # a list without cursors ends with the row that its total counts
                at = {"offset": offset}

    def __iter__(self) -> Iterator[Row]:
        for page in self.pages():
            yield from page.data

    def first(self) -> Page[Row]:
        """Returns the first page, whose meta has the total."""
        return self._page({})
