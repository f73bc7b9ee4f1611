"""The execution log: what each hook did, for whoever asks, and nothing for whoever does not."""

import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import spanhook
from spanhook import ConfigurationError, Hooks, Operation, Reject, Settings
from spanhook.definitions import HookRegistry
from spanhook.gating import ExecutionLog, HookChainResult, HookResult, chain_of, execution_log
from spanhook.model import clock
from spanhook.testing import recorder
from tests.definitions.parts import ACME, Middleware, call, definition, search

LOGGED = Settings(execution_log_enabled=True)


@pytest.fixture(autouse=True)
def empty() -> None:
    execution_log.clear()


def gates(*reasons: str) -> Hooks:
    hooks = Hooks()
    for number, reason in enumerate(reasons):

        @hooks.before("tool.execute", name=f"gate {number}")
        def gate(op: Operation, reason: str = reason) -> None:
            if reason:
                raise Reject(reason, status_code=402)

    @hooks.after("tool.execute", name="after")
    def after(op: Operation) -> None:
        raise KeyError("broken")

    return hooks


def test_nothing_is_kept_unless_somebody_asks() -> None:
    with recorder(gates("")) as seen:
        search([]).invoke(call())
    assert list(execution_log.entries()) == []
    assert chain_of(seen.operations[0]._record, "pre") is None


def test_each_hook_has_its_result_and_each_chain_its_entry() -> None:
    with recorder(gates("", ""), settings=LOGGED), spanhook.context(tenant_id="acme", request_id="r-1"):
        search([]).invoke(call())
        after, before = execution_log.entries()
    assert (before.event_type, before.tenant_id, before.request_id, before.name) == (
        "tool.execute.pre",
        "acme",
        "r-1",
        "search",
    )
    assert [(one.hook_name, one.success, one.decision) for one in before.hook_results] == [
        ("gate 0", True, "allow"),
        ("gate 1", True, "allow"),
    ]
    assert (before.aborted, before.abort_reason) == (False, "")
    assert before.total_duration_ms == sum(one.duration_ms for one in before.hook_results) > 0
    (failed,) = after.hook_results
    assert (after.event_type, failed.hook_name, failed.success, failed.decision) == (
        "tool.execute.post",
        "after",
        False,
        "error",
    )
    assert "broken" in failed.error
    assert before.log_id != after.log_id
    assert (before.hook_count, before.all_succeeded, after.all_succeeded) == (2, True, False)


def test_a_refusal_is_a_success_of_the_hook_and_the_chains_abort() -> None:
    with recorder(gates("", "unpaid"), settings=LOGGED):
        search([]).invoke(call())
        (entry,) = execution_log.entries()
    assert (entry.aborted, entry.abort_reason) == (True, "unpaid")
    assert entry.hook_results[-1] == HookResult(
        "gate 1", True, {"status_code": 402}, "unpaid", entry.hook_results[-1].duration_ms, "reject", "closed"
    )


def test_without_a_request_id_the_run_is_named() -> None:
    with recorder(gates(""), settings=LOGGED) as seen:
        search([]).invoke(call())
        assert {one.request_id for one in execution_log.entries()} == {seen.operations[0].identity.run_id}


def test_a_definition_may_ask_for_it() -> None:
    registry = HookRegistry(allowed=[ACME])
    registry.register(definition(hook_id="a", log_executions=True))
    registry.register(Middleware(lambda context, call_next: call_next(context), "workflow.step.pre"))
    with recorder([registry.hooks, gates("")]):
        search([]).invoke(call())
        with spanhook.operation("workflow.step", "one"):
            pass
        assert [one.event_type for one in registry.logs()] == ["tool.execute.post", "tool.execute.pre"]
        (before,) = registry.logs(event_type="tool.execute.pre")
        assert registry.logs(tenant_id="acme") == []
    told = [(one.hook_name, one.decision) for one in before.hook_results]
    assert told == [("gate 0", "allow"), ("suffix", "modify"), ("gate 0", "allow")]


def test_hooks_in_shadow_are_kept_apart() -> None:
    registry = HookRegistry(allowed=[ACME])
    registry.register(definition(hook_id="a", mode="shadow", log_executions=True, handler_ref=f"{ACME}:Never"))
    with recorder([registry.hooks, gates("")], settings=LOGGED):
        search([]).invoke(call())
        registry.hooks.flush()
        told = {(one.mode, one.hook_results[0].decision) for one in registry.logs(event_type="tool.execute.pre")}
    assert told == {("shadow", "reject"), ("enforce", "allow")}
    assert registry.statistics().hooks["a"].rejections == 1


def test_plain_data_for_json() -> None:
    with recorder(gates(""), settings=LOGGED):
        search([]).invoke(call())
        entry = next(iter(execution_log.entries()))
    told = entry.as_dict()
    assert told["hook_results"][0]["hook_name"] == "after"
    assert datetime.fromisoformat(told["timestamp"]) == entry.timestamp


def test_it_is_bounded() -> None:
    with recorder(gates(""), settings=Settings(execution_log_enabled=True, execution_log_size=5)) as seen:
        for _ in range(20):
            search([]).invoke(call())
        assert len(seen.operations) == 20
        assert len(list(execution_log.entries())) == 5


def test_entries_go_when_they_are_old(monkeypatch: pytest.MonkeyPatch) -> None:
    with recorder(gates(""), settings=Settings(execution_log_enabled=True, execution_log_retention_hours=1)):
        search([]).invoke(call())
        assert len(list(execution_log.entries())) == 2
        now = clock.wall() + int(timedelta(hours=1.01).total_seconds() * 1e9)
        monkeypatch.setattr(clock, "wall", lambda: now)
        assert list(execution_log.entries()) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("execution_log_size", 0),
        ("execution_log_size", 1.5),
        ("execution_log_retention_hours", 0),
        ("execution_log_retention_hours", float("nan")),
        ("execution_log_retention_hours", "24"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(name: str, value: Any) -> None:
    with pytest.raises(ConfigurationError, match=name):
        Settings(**{name: value})


def test_many_threads_write_and_read_it() -> None:
    @spanhook.tool
    def search(query: str) -> str:
        return query

    def work() -> None:
        for _ in range(50):
            search("x")
            list(execution_log.entries())

    with recorder(gates(""), settings=Settings(execution_log_enabled=True, execution_log_size=40)):
        threads = [threading.Thread(target=work) for _ in range(8)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        assert len(list(execution_log.entries())) == 40


def test_the_results_of_a_chain() -> None:
    chain = HookChainResult("x.pre", (HookResult("a", True), HookResult("b", False)))
    assert (chain.hook_count, chain.all_succeeded) == (2, False)
    assert ExecutionLog(size=1).entries() is not None
    assert datetime.now(UTC).tzinfo is UTC
