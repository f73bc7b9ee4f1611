"""What every store of requests promises, in memory, in an SQLite file, on Redis and in PostgreSQL."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from spanhook.errors import ConfigurationError, StoreError
from spanhook.store import ApprovalError, ApprovalRequest, Approvals, open_approvals
from spanhook.store.memory_approvals import MemoryApprovals
from spanhook.store.postgres_approvals import PostgresApprovals
from spanhook.store.redis_approvals import RedisApprovals
from spanhook.store.sqlite_approvals import SQLiteApprovals
from tests.forking import children

REQUEST = ApprovalRequest("1", "bound", "close", "close_account", "acme", "ann", "s", "desk", '{"id":"é"}', "Careful")


@pytest.fixture(params=["memory", "sqlite", "redis", "postgresql"])
def approvals(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Approvals]:
    made: Approvals
    if request.param == "memory":
        made = MemoryApprovals()
    elif request.param == "sqlite":
        made = SQLiteApprovals(str(tmp_path / "approvals.db"))
    elif request.param == "redis":
        made = RedisApprovals(request.getfixturevalue("redis_url"))
    else:
        made = PostgresApprovals(request.getfixturevalue("postgres_url"))
    yield made
    made.close()


def ask(approvals: Approvals, id: str = "1", binding: str = "bound", timeout: float = 60, **fields: object) -> bool:
    """Ask, and say whether the request is a new one."""
    return approvals.ask(replace(REQUEST, id=id, binding=binding, **fields), timeout)[1]  # pyright: ignore[reportArgumentType]


@pytest.mark.slow
def test_the_same_call_is_asked_for_once(approvals: Approvals) -> None:
    assert ask(approvals)
    assert not ask(approvals, "2")
    assert ask(approvals, "3", "another")
    assert [request.id for request in approvals.requests("pending")] == ["1", "3"]
    assert approvals.requests("approved") == []
    found = approvals.find("1")
    assert found is not None
    assert found == replace(REQUEST, asked_at=found.asked_at, expires_at=found.asked_at + 60)
    assert approvals.find("2") is None


@pytest.mark.every_value
def test_an_approval_is_used_once(approvals: Approvals) -> None:
    ask(approvals)
    assert not approvals.use("1", "")
    answered = approvals.answer("1", approve=True, by="bob", reason="fine")
    assert (answered.status, answered.answered_by, answered.reason) == ("approved", "bob", "fine")
    assert not ask(approvals, "2")
    assert approvals.use("1", "")
    assert not approvals.use("1", "")
    assert not approvals.use("unknown", "")
    assert ask(approvals, "2")
    assert [request.status for request in approvals.requests()] == ["used", "pending"]


def test_only_a_call_that_has_paused_may_go_on(approvals: Approvals) -> None:
    ask(approvals)
    approvals.pause("1", "task")
    approvals.answer("1", approve=True, by="bob")
    approvals.pause("1", "task")
    assert approvals.use("1", "task")
    assert approvals.paused_by("bound", "task") is None
    assert not approvals.use("1", "task")
    for other in ("other", ""):
        approvals.pause("1", other)
        assert not approvals.use("1", other)
    approvals.pause("1", "task")
    paused = approvals.paused_by("bound", "task")
    assert paused is not None
    assert paused.id == "1"
    assert approvals.paused_by("bound", "other") is None
    assert approvals.paused_by("bound", "") is None
    assert not approvals.use("1", "other")
    assert approvals.use("1", "task")
    assert not approvals.use("1", "task")


def test_a_call_that_is_made_again_in_its_place_says_so(approvals: Approvals) -> None:
    for place, repeats in (("p", "1"), ("", "")):
        ask(approvals, "1" + place, place, place=place)
        approvals.answer("1" + place, approve=True, by="bob")
        approvals.use("1" + place, "task")
        request, _ = approvals.ask(replace(REQUEST, id="2" + place, binding=place, place=place), 60)
        assert request.repeats == repeats + place


def test_what_becomes_of_an_old_request_does_not_hide_a_new_one(approvals: Approvals) -> None:
    ask(approvals)
    approvals.answer("1", approve=True, by="bob")
    approvals.use("1", "task")
    ask(approvals, "2")
    approvals.pause("1", "task")
    assert not ask(approvals, "3")
    assert approvals.paused_by("bound", "task") is None


@pytest.mark.every_value
def test_open_requests_of_a_place_are_found_among_many(approvals: Approvals) -> None:
    ask(approvals, "a", "a", place="here")
    ask(approvals, "b", "b", place="here")
    ask(approvals, "c", "c", place="there")
    ask(approvals, "d", "d", timeout=0, place="here")
    for number in range(20):
        ask(approvals, str(number), str(number))
    assert [one.id for one in approvals.pending_at("here")] == ["a", "b"]
    approvals.answer("a", approve=True, by="bob")
    assert [one.id for one in approvals.pending_at("here")] == ["b"]
    assert [one.id for one in approvals.requests("pending", 2)] == ["18", "19"]
    assert [one.id for one in approvals.requests(limit=1)] == ["19"]
    assert approvals.requests(tenant="of nobody") == []
    (whose,) = {one.tenant_id for one in approvals.requests()}
    assert len(approvals.requests(limit=5, tenant=whose)) == 5


def test_what_is_denied_stays_so(approvals: Approvals) -> None:
    ask(approvals)
    approvals.answer("1", approve=False, by="bob", reason="no")
    assert not approvals.use("1", "")
    request, is_new = approvals.ask(replace(REQUEST, id="2"), 60)
    assert (request.id, request.status, request.reason, is_new) == ("1", "denied", "no", False)


def test_a_request_is_answered_once(approvals: Approvals) -> None:
    ask(approvals)
    approvals.answer("1", approve=True, by="bob")
    with pytest.raises(ApprovalError, match="not open any more: it was approved by bob"):
        approvals.answer("1", approve=False, by="carl")
    with pytest.raises(ApprovalError, match="there is no request 'x'"):
        approvals.answer("x", approve=True, by="bob")


@pytest.mark.every_value
@pytest.mark.parametrize(
    ("fields", "by", "said"),
    [
        ({}, "ann", "'ann' has asked for this, and may not answer it"),
        ({}, "", "an answer needs the id of whoever gives it"),
        ({"approvers": ("boss", "lead-*")}, "bob", "none of those who may answer: boss, lead-*"),
        ({"approvers": ("boss", "lead-*"), "self_approval": True}, "ann", "none of those who may answer"),
    ],
)
def test_not_everybody_may_answer(approvals: Approvals, fields: dict[str, Any], by: str, said: str) -> None:
    ask(approvals, **fields)
    with pytest.raises(ApprovalError) as caught:
        approvals.answer("1", approve=True, by=by)
    assert said in str(caught.value)
    assert [request.status for request in approvals.requests()] == ["pending"]


def test_who_may_answer(approvals: Approvals) -> None:
    ask(approvals, approvers=("lead-*",))
    approvals.answer("1", approve=True, by="lead-7")
    ask(approvals, "2", "other", self_approval=True)
    approvals.answer("2", approve=True, by="ann")


def test_a_request_expires(approvals: Approvals) -> None:
    assert ask(approvals, timeout=0)
    assert [request.status for request in approvals.requests()] == ["expired"]
    with pytest.raises(ApprovalError, match="it was not answered in time"):
        approvals.answer("1", approve=True, by="bob")
    assert ask(approvals, "2")


def test_an_answer_holds_for_a_time(approvals: Approvals) -> None:
    ask(approvals, valid_s=0.0)
    approvals.answer("1", approve=True, by="bob")
    assert not approvals.use("1", "")
    assert ask(approvals, "2")


def test_of_two_answers_at_once_one_counts(approvals: Approvals) -> None:
    def answer(number: int) -> bool:
        try:
            approvals.answer("1", approve=number % 2 == 0, by=f"user-{number}")
        except ApprovalError:
            return False
        return True

    ask(approvals)
    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(answer, range(32))) == 1


def test_of_many_calls_one_uses_an_approval(approvals: Approvals) -> None:
    ask(approvals)
    approvals.answer("1", approve=True, by="bob")
    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(lambda number: approvals.use("1", str(number)), range(32))) == 1


def test_of_many_that_ask_one_makes_the_request(approvals: Approvals) -> None:
    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(lambda number: ask(approvals, str(number)), range(32))) == 1
    assert len(approvals.requests()) == 1


ANSWERING = """
import sys
from spanhook.store import ApprovalError, open_approvals

try:
    open_approvals(sys.argv[1]).answer("1", approve=True, by=sys.argv[2])
    print("mine")
except ApprovalError as error:
    print(error)
"""


@pytest.mark.parametrize("kind", ["sqlite", "redis", "postgres"])
def test_processes_share_requests(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    url = f"sqlite:///{tmp_path}/a.db" if kind == "sqlite" else request.getfixturevalue(f"{kind}_url")
    approvals = open_approvals(url)
    ask(approvals)
    started = [children.Piped("-c", ANSWERING, url, name) for name in ("bob", "carl")]
    said = sorted(child.communicate().strip() for child in started)
    assert said[0] == "mine"
    assert "not open any more" in said[1]
    assert [one.status for one in approvals.requests()] == ["approved"]
    approvals.close()


def test_a_store_that_is_away_is_a_clear_error() -> None:
    approvals = RedisApprovals("redis://:secret@127.0.0.1:1/0")
    with pytest.raises(StoreError, match=r"redis://127\.0\.0\.1:1/0 cannot be used: ConnectionError"):
        approvals.find("1")
    with pytest.raises(StoreError):
        approvals.requests()
    approvals.close()


def test_a_postgresql_that_is_away_is_a_clear_error(postgres_url: str) -> None:
    del postgres_url  # it skips where there is none
    approvals = PostgresApprovals("postgresql://someone:secret@127.0.0.1:1/agents")
    with pytest.raises(StoreError, match=r"postgresql://127\.0\.0\.1:1/agents cannot be used: OperationalError"):
        approvals.find("1")


def test_a_connection_that_was_lost_is_opened_again(postgres_url: str) -> None:
    import psycopg

    approvals = PostgresApprovals(postgres_url)
    ask(approvals)
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE pid <> pg_backend_pid() AND datname = current_database()"
        )
    assert approvals.find("1") is not None
    assert approvals.find("\0\ud800") is None
    child = os.fork()
    if child == 0:
        os._exit(int(approvals.find("1") is None))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert approvals.find("1") is not None
    approvals.close()


def test_a_forked_child_has_no_approvals_of_its_parent() -> None:
    approvals = MemoryApprovals()
    ask(approvals)
    approvals.answer("1", approve=True, by="bob")
    child = os.fork()
    if child == 0:
        os._exit(int(approvals.use("1", "")))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert approvals.use("1", "")


def test_old_requests_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spanhook.store.memory_approvals._SWEEP_EVERY", 2)
    now = [1_000.0]

    def clock() -> float:
        return now[0]

    for approvals in (MemoryApprovals(clock), SQLiteApprovals(str(tmp_path / "a.db"), clock)):
        now[0] = 1_000.0
        ask(approvals)
        now[0] += 40 * 86_400
        assert ask(approvals, "2", "other")
        ask(approvals, "2", "other")
        assert [one.id for one in approvals.requests()] == ["2"]


def test_one_address_is_opened_once(tmp_path: Path) -> None:
    assert open_approvals("memory://x") is open_approvals("memory://x")
    assert open_approvals("memory://x") is not open_approvals("memory://y")
    with pytest.raises(ConfigurationError, match=r"the folder .*missing' does not exist"):
        open_approvals(f"sqlite:///{tmp_path}/missing/a.db")
