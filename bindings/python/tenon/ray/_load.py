"""Requests per replica, as a router knows them: its own at once, those of other routers by reports.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Collection, Hashable
from typing import Any, NamedTuple

# Oldest report that counts: Serve's period of a second, the way to the router, and a busy
# controller.
_REPORT_AGE_SECONDS = 3.0


class _Peak(NamedTuple):
    """The most requests at once, in this interval and the one before."""

    interval: int
    now: int
    before: int


class Load:
    """Running requests by replica. One event loop.

    Its own requests count from the choice of a replica on, so requests of a burst, all chosen
    before the first is sent, see each other. A report counts requests of all routers at a past
    moment. It counts only as far as it exceeds this router's own requests at that time; otherwise a
    finished request would keep others away for a second."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._replica: dict[str, Hashable] = {}
        self._waiting: dict[str, asyncio.Future[Any]] = {}
        self._counts: Counter[Hashable] = Counter()
        self._peaks: dict[Hashable, _Peak] = {}

    def choose(self, request: str, replica: Hashable, sending: "asyncio.Future[Any]") -> None:
        """Notes that a request will be sent there, when `sending` is done. A second call for a
        request moves it there."""
        self._put(request, replica)
        self._waiting[request] = sending

    def send(self, request: str, replica: Hashable) -> None:
        """Notes that the replica has the request, unless it is over by then."""
        if request in self._replica:
            self._put(request, replica)
        self._waiting.pop(request, None)

    def end(self, request: str) -> None:
        """Notes that the request is over, or was refused."""
        self._waiting.pop(request, None)
        if request in self._replica:
            self._counts[self._replica.pop(request)] -= 1

    def requests(self, replica: Hashable, reported: int) -> int:
        """Requests that the replica has, given the number of its last report."""
        for request in [one for one, sending in self._waiting.items() if sending.cancelled()]:
            self.end(request)
        peak = self._peak(replica)
        return self._counts[replica] + max(0, reported - max(peak.now, peak.before))

    def keep(self, replicas: "Collection[Hashable]") -> None:
        """Forgets replicas that are gone."""
        for known in [one for one in {*self._counts, *self._peaks} if one not in replicas]:
            del self._counts[known]
            self._peaks.pop(known, None)
        for request in [one for one, where in self._replica.items() if where not in replicas]:
            del self._replica[request]
            self._waiting.pop(request, None)

    def _put(self, request: str, replica: Hashable) -> None:
        if request in self._replica:
            self._counts[self._replica[request]] -= 1
        self._replica[request] = replica
        self._counts[replica] += 1
        peak = self._peak(replica)
        self._peaks[replica] = peak._replace(now=max(peak.now, self._counts[replica]))

    def _peak(self, replica: Hashable) -> _Peak:
        interval, count = int(self._clock() / _REPORT_AGE_SECONDS), self._counts[replica]
        peak = self._peaks.get(replica, _Peak(interval, count, count))
        if peak.interval != interval:
            before = peak.now if peak.interval == interval - 1 else count
            peak = self._peaks[replica] = _Peak(interval, count, before)
        return peak
