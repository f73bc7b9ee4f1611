"""States of schedules in the control plane's database, and what webhooks are told of ticks."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from sqlalchemy import Connection, bindparam, func, insert, select, update

from spanhook.schedules import CronEntry, CronState, Decided, Execution, Passed, Past
from spanhook.server.webhook_outbox import publish
from spanhook.store.control import Database
from spanhook.store.control.tables import schedules
from spanhook.webhooks import utc_text

T = TypeVar("T")
Told = Callable[[Connection, str, str | None, str, object], None]
"""Told of each change: the transaction, the key, the text before, the text after, and what else the change has said."""

CRON_EVENTS = tuple(
    f"cron.{what}" for what in ("started", "completed", "failed", "cancelled", "missed", "overlapping", "lost")
)
"""What webhooks are told of a tick: that it is run, and what became of it."""


class CronStates:
    """States of schedules in the control plane's database. See ``States``, whose methods these are; threads use them.

    Args:
        database: The open database.
        told: Told of each change, in its transaction; what it raises undoes that.
    """

    def __init__(self, database: Database, told: Told | None = None) -> None:
        self._database, self._told = database, told

    def change(self, key: str, change: Callable[[str | None], tuple[str, T]]) -> T:
        """Change the text of a key; nobody else changes it meanwhile."""
        with self._database.writing_here() as connection:
            if connection.dialect.name == "postgresql":  # a key without a row cannot be locked
                connection.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(bindparam("key", key), 0))))
            found = connection.execute(select(schedules.c.state).where(schedules.c.schedule_key == key)).scalar()
            state, result = change(found)
            if state != found:
                if found is None:
                    connection.execute(insert(schedules).values(schedule_key=key, state=state))
                else:
                    connection.execute(update(schedules).where(schedules.c.schedule_key == key).values(state=state))
                if self._told is not None:
                    self._told(connection, key, found, state, result)
        return result

    def read(self, keys: Sequence[str]) -> dict[str, str]:
        """The texts of those of the keys that have one."""
        query = select(schedules.c.schedule_key, schedules.c.state).where(schedules.c.schedule_key.in_(keys))
        with self._database.reading_here() as connection:
            return {row.schedule_key: row.state for row in connection.execute(query)}

    def close(self) -> None:
        """Leave the database open: it is not this object's."""


def telling(entries: Sequence[CronEntry]) -> Told:
    """What puts the events of ticks into the outbox: ``CRON_EVENTS``, with the changes themselves.

    Ticks that are not run together, for one reason, are one event, however many they are.
    """
    by_key = {f"cron:{entry.id}": entry for entry in entries}

    def told(connection: Connection, key: str, before: str | None, after: str, result: object) -> None:
        entry = by_key[key]
        known = CronState.from_text(after)
        for event, what in _decided(result) if isinstance(result, Decided) else _ended(_read(before), known):
            facts = {"cron_id": entry.id, "agent_name": entry.agent, **what}
            publish(connection, entry.tenant_id, event, facts, subject=entry.id, trace="")

    return told


def _read(state: str | None) -> CronState | None:
    try:
        return None if state is None else CronState.from_text(state)
    except ValueError:  # it begins anew
        return None


def _decided(decided: Decided) -> list[tuple[str, dict[str, Any]]]:
    """Ticks that are not run, those that were lost, and those that are run."""
    over: list[tuple[str, dict[str, Any]]] = []
    at = utc_text(decided.state.recent[-1].at) if decided.passed else ""
    for reason in ("missed", "overlapping"):
        ticks = [one.tick for one in decided.passed if one.reason == reason]
        if ticks:
            over.append((f"cron.{reason}", {"tick": utc_text(max(ticks)), "at": at, "count": len(ticks)}))
            if len(ticks) > 1:
                over[-1][1]["first_tick"] = utc_text(min(ticks))
    over += [("cron.lost", {**_facts(one), "at": at}) for one in decided.passed if one.reason == "lost"]
    return over + [("cron.started", _facts(one)) for one in decided.run]


def _ended(before: CronState | None, after: CronState) -> list[tuple[str, dict[str, Any]]]:
    known = set(before.recent) if before is not None else set[Past]()
    return [(f"cron.{one.fate}", _facts(one)) for one in after.recent if one not in known]


def _facts(one: Past | Passed | Execution) -> dict[str, Any]:
    facts = {"tick": utc_text(one.tick), "execution_id": one.execution_id}
    if isinstance(one, Past):
        facts |= {"at": utc_text(one.at), "job_id": one.job_id, "reason": one.error}
    return {name: value for name, value in facts.items() if value}
