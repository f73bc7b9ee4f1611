"""The outbox in the control plane's database: events are put in by the transaction that they are about."""

import time
from collections.abc import Iterable, Mapping, Sequence
from secrets import token_hex
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from sqlalchemy import Connection, RowMapping, and_, exists, func, insert, or_, select, update
from sqlalchemy.sql.elements import ColumnElement

from spanhook.diagnostics import Repeats, log
from spanhook.server.sealing import Seal
from spanhook.store import Due, Outcome
from spanhook.store.control import Database, clean, tables
from spanhook.webhooks import body_of, cloud_event, new_event_id, traceparent

DISABLED = "webhook.disabled"
"""The event that tells a tenant's other endpoints that one was disabled."""
PING = "webhook.ping"
"""The event that tests an endpoint; it is sent to disabled ones, too, and has no place in the order of others."""
AT_ONCE = 4
"""How many requests there are to an endpoint at a time, unless it is ordered."""
HELD_NS = 60_000_000_000
"""How long what cannot be signed waits until somebody looks again whether it can."""
_MOST_TRIED = 20
_KEPT_ERROR = 300
_hooks, _deliveries = tables.webhooks, tables.webhook_deliveries
_earlier = _deliveries.alias("earlier")


def publish(
    connection: Connection,
    tenant: str,
    event_type: str,
    data: Mapping[str, Any],
    *,
    subject: str = "",
    only: str = "",
    source: str = "/spanhook",
    trace: str | None = None,
) -> str:
    """Put an event into the outbox, for each of a tenant's enabled endpoints that has chosen it.

    With an ``AsyncConnection``, call it by ``run_sync``. It is part of the connection's transaction: it is delivered if
    and only if what it tells of was committed.

    Args:
        connection: A transaction that writes.
        tenant: Whose event it is; empty for nobody's.
        event_type: Its type, such as ``job.completed``.
        data: What has happened, as plain data. ``input``, ``output`` and ``error`` are sent only if telemetry has
            them, too.
        subject: What it is about, such as the id of a job.
        only: The endpoint that it is for, whatever that has chosen; empty for all.
        source: Where it has happened, as a URI reference.
        trace: The ``traceparent`` of the span that has caused it, and that its deliveries belong to; empty for none, by
            default the current one.

    Returns:
        The event's id; empty if no endpoint wants it.
    """
    wanted = [_hooks.c.webhook_id == only] if only else [_hooks.c.tenant_id == tenant, _hooks.c.enabled.is_(True)]
    query = select(_hooks.c.webhook_id, _hooks.c.events).where(*wanted)
    if connection.dialect.name == "postgresql":  # an endpoint that is being deleted gets no more
        query = query.with_for_update(read=True, key_share=True)
    rows = connection.execute(query).all()
    chosen = [webhook_id for webhook_id, events in rows if only or chooses(events, event_type)]
    if not chosen:
        return ""
    event_id = new_event_id()
    about = {"source": source, "subject": clean(subject), "tenant": clean(tenant)}
    time_ns = time.time_ns()

    def written(told: Mapping[str, Any]) -> str:
        return cloud_event(event_id, event_type, told, time_ns=time_ns, **about)

    event = Published(event_id, event_type, body_of(tenant, data, written), traceparent() if trace is None else trace)
    add(connection, chosen, tenant, event)
    return event_id


class Published(NamedTuple):
    """An event as it is sent."""

    event_id: str
    event_type: str
    body: str
    traceparent: str


def add(connection: Connection, webhook_ids: Iterable[str], tenant: str, event: Published) -> list[str]:
    """Put deliveries of an event into the outbox. Returns their ids."""
    now, ids = time.time_ns(), list[str]()
    for webhook_id in webhook_ids:
        ids.append(f"dlv_{token_hex(12)}")
        connection.execute(
            insert(_deliveries).values(
                delivery_id=ids[-1],
                webhook_id=webhook_id,
                tenant_id=tenant,
                **event._asdict(),
                state="pending",
                due_ns=now,
                tried=[],
                created_ns=now,
            )
        )
    return ids


def chooses(events: Sequence[str], event_type: str) -> bool:
    """Whether an endpoint has chosen an event: by its name, by ``job.*``, or by ``*``."""
    return any(
        one in ("*", event_type) or (one.endswith(".*") and event_type.startswith(one.removesuffix("*")))
        for one in events
    )


class ServerOutbox:
    """The outbox of a database.

    Args:
        database: The database.
        seal: What opens the secrets.
        most_failures: After how many failures in a row an endpoint is disabled; 0 for never.
    """

    def __init__(self, database: Database, seal: Seal, most_failures: int = 50) -> None:
        self._database, self._seal, self._most_failures = database, seal, most_failures
        self._repeats = Repeats()

    def claim(self, now_ns: int, until_ns: int, most: int) -> list[Due]:
        """Lease deliveries that are due; see ``Outbox``.

        Raises:
            StoreError: The database cannot be used now.
        """
        waiting = select(_hooks.c.webhook_id).where(
            exists().where(_deliveries.c.webhook_id == _hooks.c.webhook_id, *_claimable(now_ns))
        )
        with self._database.reading_here() as connection:
            endpoints = list(connection.execute(waiting.order_by(func.random()).limit(most)).scalars())
        if not endpoints:  # most looks find nothing, and SQLite has one writer
            return []
        found = list[Due]()
        with self._database.writing_here() as connection:
            for one in endpoints:
                found += self._claim(connection, one, now_ns, until_ns, most - len(found))
                if len(found) >= most:
                    break
        return found

    def _claim(self, connection: Connection, webhook_id: str, now_ns: int, until_ns: int, most: int) -> list[Due]:
        """Lease deliveries of one endpoint, of which only a few are sent at a time: a slow one delays no other."""
        hook = _locked(connection, webhook_id, skip=True)
        if hook is None:
            return []
        leased = select(func.count()).where(
            _deliveries.c.webhook_id == webhook_id,
            _deliveries.c.state == "pending",
            _deliveries.c.leased_until_ns > now_ns,
        )
        at_once = 1 if hook["ordered"] else AT_ONCE
        free = min(most, at_once - connection.execute(leased).scalar_one())
        if free <= 0:
            return []
        secrets = self._secrets(hook, now_ns)
        if not secrets:
            self._hold(connection, webhook_id, now_ns)
            return []
        query = (
            select(_deliveries)
            .join(_hooks, _hooks.c.webhook_id == _deliveries.c.webhook_id)
            .where(_deliveries.c.webhook_id == webhook_id, *_claimable(now_ns))
            .order_by(_deliveries.c.id if hook["ordered"] else _deliveries.c.due_ns, _deliveries.c.id)
            .limit(free)
        )
        rows, lease = connection.execute(query).mappings().all(), token_hex(8)
        taken = update(_deliveries).where(_deliveries.c.id.in_([row["id"] for row in rows]))
        connection.execute(taken.values(lease=lease, leased_until_ns=until_ns))
        return [_due(hook, row, lease, secrets) for row in rows]

    def _hold(self, connection: Connection, webhook_id: str, now_ns: int) -> None:
        """Let what is due to an endpoint wait a while, as it cannot be signed. It is not counted as tried."""
        waiting = and_(
            _deliveries.c.webhook_id == webhook_id, _deliveries.c.state == "pending", _deliveries.c.due_ns <= now_ns
        )
        connection.execute(update(_deliveries).where(waiting).values(due_ns=now_ns + HELD_NS))
        if self._repeats.due("key") is not None:
            log.warning(
                "spanhook: webhook %s waits, and others may: its secret cannot be decrypted, as the server has another "
                "key now; give it a new secret, or the server its former key",
                webhook_id,
            )

    def settle(self, due: Due, outcome: Outcome) -> None:
        """Keep what came of an attempt, unless somebody else has leased the delivery since.

        Raises:
            StoreError: The database cannot be used now.
        """
        mine = and_(_deliveries.c.delivery_id == due.delivery_id, _deliveries.c.lease == due.lease)
        with self._database.writing_here() as connection:
            hook = _locked(connection, due.webhook_id)
            tried = connection.execute(select(_deliveries.c.tried).where(mine)).scalar_one_or_none()
            if tried is None:
                return
            connection.execute(
                update(_deliveries)
                .where(mine)
                .values(
                    state=outcome.state,
                    attempts=due.attempts + 1,
                    due_ns=outcome.due_ns,
                    lease="",
                    leased_until_ns=0,
                    ended_ns=0 if outcome.state == "pending" else outcome.time_ns + outcome.duration_ns,
                    tried=[*tried, _attempt(outcome)][-_MOST_TRIED:],
                )
            )
            if hook is not None:
                self._count(connection, hook, due, outcome)

    def _count(self, connection: Connection, hook: RowMapping, due: Due, outcome: Outcome) -> None:
        """Count failures in a row, and disable the endpoint if they are too many or it wants no more."""
        failures = 0 if outcome.state == "delivered" else hook["failures"] + 1
        if failures == hook["failures"]:
            return
        values: dict[str, Any] = {"failures": failures}
        too_many = bool(self._most_failures) and failures >= self._most_failures
        if hook["enabled"] and (outcome.gone or too_many):
            reason = "it answered 410 (Gone)" if outcome.gone else f"{failures} attempts in a row have failed"
            values |= {"enabled": False, "disabled_reason": reason, "updated_ns": time.time_ns()}
        connection.execute(update(_hooks).where(_hooks.c.webhook_id == hook["webhook_id"]).values(**values))
        if "disabled_reason" in values:
            log.warning("spanhook: webhook %s is disabled: %s", hook["webhook_id"], values["disabled_reason"])
            host = urlsplit(str(hook["url"])).hostname or ""  # the rest of a URL may be a secret
            told = {"webhook_id": hook["webhook_id"], "host": host, "reason": values["disabled_reason"]}
            publish(connection, hook["tenant_id"], DISABLED, told, subject=hook["webhook_id"], trace=due.traceparent)

    def _secrets(self, hook: RowMapping, now_ns: int) -> tuple[str, ...]:
        sealed = [hook["secret"], *([hook["secret_before"]] if hook["before_until_ns"] > now_ns else [])]
        return tuple(filter(None, (self._seal.open(one, hook["webhook_id"]) for one in sealed)))


def _due(hook: RowMapping, row: RowMapping, lease: str, secrets: tuple[str, ...]) -> Due:
    return Due(
        row["delivery_id"],
        lease,
        hook["webhook_id"],
        row["event_id"],
        row["event_type"],
        hook["url"],
        secrets,
        row["body"],
        row["attempts"],
        row["traceparent"],
    )


def _locked(connection: Connection, webhook_id: str, *, skip: bool = False) -> RowMapping | None:
    """An endpoint that nobody else changes until the transaction ends. It is locked before its deliveries, so that two
    transactions never wait for each other.
    """
    query = select(_hooks).where(_hooks.c.webhook_id == webhook_id)
    if connection.dialect.name == "postgresql":
        query = query.with_for_update(key_share=True, skip_locked=skip)
    return connection.execute(query).mappings().first()


def _claimable(now_ns: int) -> tuple[ColumnElement[bool], ...]:
    before = and_(
        _earlier.c.webhook_id == _deliveries.c.webhook_id,
        _earlier.c.state == "pending",
        _earlier.c.event_type != PING,
        _earlier.c.id < _deliveries.c.id,
    )
    return (
        _deliveries.c.state == "pending",
        _deliveries.c.due_ns <= now_ns,
        _deliveries.c.leased_until_ns <= now_ns,
        or_(_hooks.c.enabled.is_(True), _deliveries.c.event_type == PING),
        or_(_hooks.c.ordered.is_(False), _deliveries.c.event_type == PING, ~exists().where(before)),
    )


def _attempt(outcome: Outcome) -> dict[str, Any]:
    return {
        "time_ns": outcome.time_ns,
        "duration_ns": outcome.duration_ns,
        "status": outcome.status,
        "error": outcome.error[:_KEPT_ERROR],
        "response": clean(outcome.response),
    }
