"""Chooses the replica of a Serve deployment that answers a request at the least cost."""

from __future__ import annotations

import random
import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Optional

from ray.serve.request_router import PendingRequest, ReplicaID, RequestRouter, RunningReplica

from ._load import Load
from ._prefix import Beginning, beginnings
from ._requests import texts_of

# A router remembers what it sent where until the replica's own report, which may come late, has it.
_REMEMBERED_SECONDS = 30.0
_REMEMBERED = 4096


def cost(text: "list[Beginning]", held: "set[int]", requests: int, request_characters: int) -> int:
    """Characters that a replica would compute before the answer begins: the text beyond the longest
    prefix that it holds, and request_characters per request that it has."""
    known = next((one.characters for one in reversed(text) if one.hash in held), 0)
    return (text[-1].characters if text else 0) - known + requests * request_characters


class PrefixRouter(RequestRouter):  # type: ignore[misc]
    """Sends a request to the replica that caches its longest prefix, unless the queue there is so
    much longer that computing it elsewhere is less work.

    Signals of a replica (ModelReplica.record_routing_stats): `requests`, its requests of all
    routers, and `beginnings`, the hashes of texts that it holds. The router adds its own requests
    between two reports."""

    # Serve's 0.1 seconds would move a conversation away from a replica that is busy for a moment,
    # and its whole prompt would be recomputed.
    queue_len_response_deadline_s = 1.0

    def initialize_state(self, request_characters: int = 4000, **_: Any) -> None:
        """request_characters: the characters of prompt that cost as much as one more request in the
        queue."""
        self._request_characters = request_characters
        self._load = Load()
        self._sent: dict[ReplicaID, OrderedDict[int, float]] = {}

    def _held(self, replica: RunningReplica) -> "set[int]":
        oldest = time.monotonic() - _REMEMBERED_SECONDS
        sent: Mapping[int, float] = self._sent.get(replica.replica_id, {})
        return set(replica.routing_stats.get("beginnings", ())).union(
            one for one, when in sent.items() if when >= oldest)

    def _requests(self, replica: RunningReplica) -> int:
        return self._load.requests(replica.replica_id, replica.routing_stats.get("requests", 0))

    async def choose_replicas(self, candidate_replicas: "list[RunningReplica]",
                              pending_request: Optional[PendingRequest] = None) -> "list[list[RunningReplica]]":
        """The replicas, the least cost first; Serve takes the first that has room."""
        text = _beginnings_of(pending_request)
        replicas = random.sample(candidate_replicas, len(candidate_replicas))  # equal ones take turns
        replicas.sort(key=lambda replica: cost(text, self._held(replica), self._requests(replica),
                                               self._request_characters))
        if pending_request is not None and replicas:
            first = replicas[0].replica_id
            self._load.choose(pending_request.metadata.internal_request_id, first, pending_request.future)
            self._remember(first, text)
        return [[replica] for replica in replicas]

    def on_request_routed(self, pending_request: PendingRequest, replica_id: ReplicaID, result: Any) -> None:
        """Notes what the replica caches from now on, before its own report."""
        self._load.send(pending_request.metadata.internal_request_id, replica_id)
        self._remember(replica_id, _beginnings_of(pending_request))

    def _remember(self, replica_id: ReplicaID, text: "list[Beginning]") -> None:
        sent, now = self._sent.setdefault(replica_id, OrderedDict()), time.monotonic()
        for one in text:
            sent[one.hash] = now
            sent.move_to_end(one.hash)
        while len(sent) > _REMEMBERED:
            sent.popitem(last=False)

    def on_request_completed(self, replica_id: ReplicaID, internal_request_id: str) -> None:
        """Counts one request less."""
        self._load.end(internal_request_id)

    def update_replicas(self, replicas: "list[RunningReplica]") -> None:
        """Forgets replicas that are gone."""
        super().update_replicas(replicas)
        living = {replica.replica_id for replica in replicas}
        self._load.keep(living)
        for known in [one for one in self._sent if one not in living]:
            del self._sent[known]


def _beginnings_of(request: Optional[PendingRequest]) -> "list[Beginning]":
    """Prefixes of the prompt, the first argument of each method that the router sends."""
    if request is None or not request.args:
        return []
    try:
        return beginnings(texts_of(request.args[0]))
    except TypeError:  # no prompt: another method's argument
        return []
