"""Paginated lists: iterating over a page continues with the next ones."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping
from typing import Any, Optional

from ._records import Record

# Fetches a page by its query.
Turn = Callable[[Mapping[str, Any]], Any]


class _Page(Record):
    __slots__ = ("_turn", "_query")
    _turn: Turn
    _query: Mapping[str, Any]

    def has_next_page(self) -> bool:
        """True if there are more pages."""
        return bool(self._fields.get("has_more")) and bool(self._fields["data"])

    def next_page_info(self) -> Optional[dict[str, Any]]:
        """The query of the next page; None after the last."""
        return {"after": self._fields["data"][-1].id} if self.has_next_page() else None

    def get_next_page(self) -> Any:
        """The page after this one (AsyncOpenAI: awaitable). RuntimeError if there is none."""
        more = self.next_page_info()
        if more is None:
            raise RuntimeError("No next page expected; please check `.has_next_page()` before calling "
                               "`.get_next_page()`.")
        return self._turn({**self._query, **more})

    def __len__(self) -> int:
        return len(self._fields["data"])


class Page(_Page):
    """A list of records: `data`, or iterate over it and the pages after it."""

    __slots__ = ()

    def iter_pages(self) -> Iterator[Any]:
        """This page and the following ones."""
        page: Any = self
        while True:
            yield page
            if not page.has_next_page():
                return
            page = page.get_next_page()

    def __iter__(self) -> Iterator[Any]:
        for page in self.iter_pages():
            yield from page.data


class AsyncPage(_Page):
    """Page for `async for`; `for` gives the records of this page."""

    __slots__ = ()

    async def iter_pages(self) -> AsyncIterator[Any]:
        """This page and the following ones."""
        page: Any = self
        while True:
            yield page
            if not page.has_next_page():
                return
            page = await page.get_next_page()

    async def __aiter__(self) -> AsyncIterator[Any]:
        async for page in self.iter_pages():
            for record in page.data:
                yield record

    def __iter__(self) -> Iterator[Any]:
        return iter(self._fields["data"])


class AsyncPaginator:
    """Result of .list() of AsyncOpenAI: await it for its first page, or iterate over all with
    `async for`."""

    def __init__(self, first: Callable[[], Any]) -> None:
        self._first = first

    def __await__(self) -> Generator[Any, None, AsyncPage]:
        page: Generator[Any, None, AsyncPage] = self._first().__await__()
        return page

    async def __aiter__(self) -> AsyncIterator[Any]:
        async for record in await self:
            yield record


def turned(made: Record, kind: type[_Page], turn: Turn, query: Mapping[str, Any]) -> _Page:
    """The page of an answer, with the query of the next one."""
    page = kind(made._fields, made._request_id)
    page._turn, page._query = turn, query
    return page
