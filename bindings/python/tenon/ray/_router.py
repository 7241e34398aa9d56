"""Which replica of a Serve deployment gets a request: the one where it is answered at the least cost."""

from __future__ import annotations

import random
import time
from collections import Counter, OrderedDict
from collections.abc import Mapping
from typing import Any, Optional

from ray.serve.request_router import PendingRequest, ReplicaID, RequestRouter, RunningReplica

from ._prefix import Beginning, beginnings
from ._requests import texts_of

# A router remembers what it sent where until the replica's own report, which may come late, has it.
_REMEMBERED_SECONDS = 30.0
_REMEMBERED = 4096


def cost(text: "list[Beginning]", held: "set[int]", requests: int, request_characters: int) -> int:
    """Characters that a replica would compute before the answer begins: those of the text beyond the longest
    beginning that it holds, and request_characters for each request that it has."""
    known = next((one.characters for one in reversed(text) if one.hash in held), 0)
    return (text[-1].characters if text else 0) - known + requests * request_characters


class PrefixRouter(RequestRouter):  # type: ignore[misc]
    """Sends a request where the most of its beginning is in the KV cache, unless the queue there is so much longer
    that computing it elsewhere is less work.

    Signals of a replica (ModelReplica.record_routing_stats): `requests`, those it has, of all routers, and
    `beginnings`, the hashes of texts that it holds. Between two reports the router adds what it did itself."""

    # Serve's 0.1 seconds would send a conversation elsewhere for a replica that is busy for a moment; elsewhere all of
    # it is to be computed.
    queue_len_response_deadline_s = 1.0

    def initialize_state(self, request_characters: int = 4000, **_: Any) -> None:
        """request_characters: the characters of prompt that cost as much as one request more in the queue."""
        self._request_characters = request_characters
        self._own_requests: Counter[ReplicaID] = Counter()
        self._sent: dict[ReplicaID, OrderedDict[int, float]] = {}

    def _held(self, replica: RunningReplica) -> "set[int]":
        oldest = time.monotonic() - _REMEMBERED_SECONDS
        sent: Mapping[int, float] = self._sent.get(replica.replica_id, {})
        return set(replica.routing_stats.get("beginnings", ())).union(
            one for one, when in sent.items() if when >= oldest)

    def _requests(self, replica: RunningReplica) -> int:
        reported: int = replica.routing_stats.get("requests", 0)
        return max(self._own_requests[replica.replica_id], reported)

    async def choose_replicas(self, candidate_replicas: "list[RunningReplica]",
                              pending_request: Optional[PendingRequest] = None) -> "list[list[RunningReplica]]":
        """The replicas one by one, the least cost first; Serve takes the first that has room."""
        text = _beginnings_of(pending_request)
        replicas = random.sample(candidate_replicas, len(candidate_replicas))  # equal ones take turns
        replicas.sort(key=lambda replica: cost(text, self._held(replica), self._requests(replica),
                                               self._request_characters))
        return [[replica] for replica in replicas]

    def on_request_routed(self, pending_request: PendingRequest, replica_id: ReplicaID, result: Any) -> None:
        """Remembers what the replica will hold, before it says so itself."""
        self._own_requests[replica_id] += 1
        sent, now = self._sent.setdefault(replica_id, OrderedDict()), time.monotonic()
        for one in _beginnings_of(pending_request):
            sent[one.hash] = now
            sent.move_to_end(one.hash)
        while len(sent) > _REMEMBERED:
            sent.popitem(last=False)

    def on_request_completed(self, replica_id: ReplicaID, internal_request_id: str) -> None:
        """One request less."""
        if self._own_requests[replica_id] > 0:
            self._own_requests[replica_id] -= 1

    def update_replicas(self, replicas: "list[RunningReplica]") -> None:
        """Forgets those that are gone."""
        super().update_replicas(replicas)
        living = {replica.replica_id for replica in replicas}
        for known in [*self._own_requests, *self._sent]:
            if known not in living:
                self._own_requests.pop(known, None)
                self._sent.pop(known, None)


def _beginnings_of(request: Optional[PendingRequest]) -> "list[Beginning]":
    """Of the prompt, the first argument of each method that the router sends."""
    if request is None or not request.args:
        return []
    try:
        return beginnings(texts_of(request.args[0]))
    except TypeError:  # no prompt: another method's argument
        return []
