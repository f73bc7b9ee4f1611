"""Requests for approval on a Redis server, for the processes of several machines."""

import json
from collections.abc import Callable
from typing import Any, TypeVar

from spanhook.errors import StoreError
from spanhook.store._redis_server import RedisServer
from spanhook.store.approvals import ApprovalRequest, Approvals, ApprovalStatus, Shelf, chosen

T = TypeVar("T")
_PREFIX = "spanhook:{approvals}"
_ALL = f"{_PREFIX}:all"
_PENDING = f"{_PREFIX}:pending"
"""Which requests there are, and which of them are open, by when they were asked."""
_TRIES = 50


class _Shelf:
    """Reads through a watching pipeline, and writes once everything was read."""

    def __init__(self, pipeline: Any) -> None:
        self._pipeline = pipeline
        seconds, microseconds = pipeline.time()
        self.now: float = seconds + microseconds / 1e6
        self.saved: list[ApprovalRequest] = []

    def by_id(self, id: str) -> ApprovalRequest | None:
        return _parsed(self._read(f"{_PREFIX}:id:{id}"))

    def latest(self, binding: str) -> ApprovalRequest | None:
        known = self._read(f"{_PREFIX}:binding:{binding}")
        return None if known is None else self.by_id(known)

    def save(self, request: ApprovalRequest) -> None:
        self.saved.append(request)

    def _read(self, key: str) -> str | None:
        self._pipeline.watch(key)
        return self._pipeline.get(key)


class RedisApprovals(Approvals):
    """Requests on a Redis server.

    Args:
        url: ``redis://`` or ``rediss://``.

    Raises:
        ConfigurationError: The package ``redis`` is not installed, or the address cannot be used.
    """

    remote = True

    def __init__(self, url: str) -> None:
        self._server = RedisServer(url)
        self.shown = self._server.shown

    def change(self, change: Callable[[Shelf], T]) -> T:
        def run(client: Any) -> T:
            for _ in range(_TRIES):
                with client.pipeline() as pipeline:
                    pipeline.watch(f"{_PREFIX}:none")  # so that what follows is done at once
                    shelf = _Shelf(pipeline)
                    result = change(shelf)
                    if not shelf.saved:
                        return result
                    pipeline.multi()
                    for request in shelf.saved:
                        _write(pipeline, request)
                    try:
                        pipeline.execute()
                    except self._server.redis.WatchError:
                        continue
                    return result
            raise StoreError(f"{self.shown} cannot be used: others change the same request all the time")

        return self._server.use(run)

    def requests(
        self, status: ApprovalStatus | None = None, limit: int = 1000, tenant: str | None = None
    ) -> list[ApprovalRequest]:
        def run(client: Any) -> list[ApprovalRequest]:
            seconds, microseconds = client.time()
            now = seconds + microseconds / 1e6
            found = _read(client, _PENDING if status == "pending" else _ALL, now)
            return chosen(found, status, tenant)[-limit:]

        return self._server.use(run)

    def pending_at(self, place: str) -> list[ApprovalRequest]:
        def run(client: Any) -> list[ApprovalRequest]:
            seconds, microseconds = client.time()
            found = _read(client, _at(place), seconds + microseconds / 1e6)
            return [request for request in found if request.status == "pending"]

        return self._server.use(run)

    def close(self) -> None:
        self._server.close()


def _write(pipeline: Any, request: ApprovalRequest) -> None:
    ends = round(request.kept_until * 1000)
    pipeline.set(f"{_PREFIX}:id:{request.id}", json.dumps(request.as_dict()), pxat=ends)
    if request.status == "pending":  # it is new, so it is the last one
        pipeline.set(f"{_PREFIX}:binding:{request.binding}", request.id, pxat=ends)
    pipeline.zadd(_ALL, {request.id: request.asked_at})
    for index in (_PENDING, _at(request.place)) if request.place else (_PENDING,):
        if request.status == "pending":
            pipeline.zadd(index, {request.id: request.asked_at})
        else:
            pipeline.zrem(index, request.id)
    if request.place:
        pipeline.pexpireat(_at(request.place), ends)


def _at(place: str) -> str:
    return f"{_PREFIX}:place:{place}"


def _read(client: Any, index: str, now: float) -> list[ApprovalRequest]:
    """The requests of an index as they are now. Those that are gone, or open no more, are taken from it."""
    ids: list[str] = client.zrange(index, 0, -1)
    texts: list[str | None] = client.mget([f"{_PREFIX}:id:{known}" for known in ids]) if ids else []
    found = [None if (request := _parsed(text)) is None else request.at(now) for text in texts]
    gone = [
        known
        for known, request in zip(ids, found, strict=True)
        if request is None or (index != _ALL and request.status != "pending")
    ]
    if gone:
        client.zrem(index, *gone)
    return [request for request in found if request is not None]


def _parsed(text: str | None) -> ApprovalRequest | None:
    return None if text is None else ApprovalRequest.of(json.loads(text))
