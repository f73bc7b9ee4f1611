"""The registry: registering and changing hooks, per tenant, within limits, from many threads while operations run."""

import asyncio
import itertools
import random
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import spanhook
from spanhook import ConfigurationError, Hook, Hooks, Operation, Settings
from spanhook.definitions import HookDefinition, HookRegistry
from spanhook.definitions.middleware import form_of
from spanhook.engine import registry as active
from spanhook.hooks.budget import Budget
from spanhook.hooks.rate_limit import RateLimit
from spanhook.model import Identity
from spanhook.testing import recorder
from tests.definitions.parts import ACME, Middleware, call, definition, noting, search

EVENT = "tool.execute.pre"


def yielding(context: Any, call_next: Any) -> Iterator[None]:
    yield


async def ayielding(context: Any, call_next: Any) -> AsyncIterator[None]:
    yield


def passing(context: Any, call_next: Any) -> Any:
    return call_next(context)


def test_hooks_are_registered_found_and_taken_out() -> None:
    registry = HookRegistry(allowed=[ACME])
    one = registry.register(definition(hook_id="a"))
    other = registry.register(Middleware(passing), priority=5, name="mine")
    assert registry.get("a") is one
    assert registry.get("b") is None
    assert (one.definition and one.definition.hook_id, other.definition) == ("a", None)
    assert (other.name, other.priority, other.event_type) == ("mine", 5, EVENT)
    assert registry.count() == 2
    assert registry.registered(event_type=EVENT, tenant_id="", enabled=True) == [one, other]
    assert registry.get_hooks(EVENT) == [other, one]
    assert registry.deregister("a") is True
    assert registry.deregister("a") is False
    assert registry.registered() == [other]


def test_tenants_have_their_own_and_those_of_all() -> None:
    registry = HookRegistry()
    system = registry.register(Middleware(passing), name="system")
    acme = registry.register(Middleware(passing), tenant_id="acme", name="acme")
    registry.register(Middleware(passing), tenant_id="other", name="other")
    assert registry.get_hooks(EVENT, "acme") == [system, acme]
    assert registry.get_hooks(EVENT) == [system]
    assert registry.registered(tenant_id="acme") == [acme]


def test_hooks_are_disabled_enabled_and_toggled_in_their_place() -> None:
    log: list[str] = []
    registry = HookRegistry()
    for name in "abc":
        registry.register(Middleware(noting(log, name)), hook_id=name)

    def order() -> str:
        log.clear()
        search([]).invoke(call())
        return "".join(one[0] for one in log if one.endswith(" in"))

    with recorder(registry.hooks):
        assert order() == "abc"
        assert registry.disable("b").enabled is False
        assert order() == "ac"
        assert registry.enable("b").enabled is True
        assert order() == "abc"
        assert registry.toggle("a").enabled is False
        assert order() == "bc"
        assert registry.toggle("a").enabled is True
        assert order() == "abc"
    assert [one.hook_id for one in registry.registered()] == ["a", "b", "c"]


def test_a_definition_is_updated_in_force() -> None:
    registry = HookRegistry(allowed=[ACME])
    registry.register(definition(hook_id="a"))
    with recorder(registry.hooks):
        registry.update("a", config={"text": "?"}, name="ask")
        assert search([]).invoke(call()).content == "found x?"
    entry = registry.get("a")
    assert entry is not None
    assert entry.definition is not None
    assert (entry.name, entry.definition.updated_at > entry.definition.created_at) == ("ask", True)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"priority": 5000}, "priority"),
        ({"config": {"text": 5}}, "text=5"),
        ({"handler_ref": "os:system"}, "not allowed"),
        ({"event_type": "nothing"}, "there is no event"),
        ({"hook_id": "b"}, "cannot be changed"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_an_update_that_cannot_be_used_changes_nothing(changes: dict[str, Any], said: str) -> None:
    registry = HookRegistry(allowed=[ACME])
    before = registry.register(definition(hook_id="a"))
    with recorder(registry.hooks):
        with pytest.raises(ConfigurationError, match=said):
            registry.update("a", **changes)
        assert registry.get("a") is before
        assert search([]).invoke(call()).content == "found x!"


def test_what_cannot_be_registered_is_refused() -> None:
    class Plain(Hook):
        def before(self, op: Operation) -> None:
            pass

    registry = HookRegistry(allowed=[ACME])
    registry.register(definition(hook_id="a"))
    odd: list[tuple[Any, dict[str, Any], str]] = [
        (definition(hook_id="a"), {}, "there is a hook with the id 'a' already"),
        (HookDefinition.model_validate(definition()), {"priority": 5}, "cannot be given with a definition"),
        (Middleware, {}, "is a class; register an object of it"),
        (Plain(), {}, "add it to Hooks"),
        (object(), {"event_type": EVENT}, "has no execute"),
        (Middleware(passing), {"event_type": "tool.execute.during"}, "there is no event"),
        (Middleware(passing), {"colour": "red"}, "unknown colour"),
        (Middleware(passing), {"priority": "high"}, "priority"),
        (definition(handler_ref=f"{ACME}:Idle"), {}, "has no execute"),
        (Middleware(lambda context: context), {}, r"execute takes \(context\); it is called with"),
        (Middleware(yielding), {}, "execute is a generator"),
        (Middleware(ayielding), {}, "execute is a generator"),
        ({}, {}, "name: Field required"),
        (5, {}, "event_type: Field required"),
    ]
    for hook, settings, said in odd:
        with pytest.raises(ConfigurationError, match=said):
            registry.register(hook, **settings)
    for change in (registry.enable, registry.disable, registry.toggle):
        with pytest.raises(ConfigurationError, match="there is no hook with the id 'b'"):
            change("b")
    assert [one.hook_id for one in registry.registered()] == ["a"]
    assert len(registry.hooks) == 1


def test_an_object_is_not_updated_but_for_being_enabled() -> None:
    registry = HookRegistry()
    registry.register(Middleware(passing), hook_id="a")
    with pytest.raises(ConfigurationError, match="registered as an object"):
        registry.update("a", priority=5)
    assert registry.update("a", enabled=False).enabled is False


def test_there_is_a_most_per_event_and_tenant() -> None:
    registry = HookRegistry(max_per_event=2)
    for name in "ab":
        registry.register(Middleware(passing), hook_id=name, enabled=name == "a")
    registry.register(Middleware(passing), tenant_id="acme")
    registry.register(Middleware(passing), event_type="tool.execute.post")
    with pytest.raises(ConfigurationError, match=r"number 3 at tool\.execute\.pre for all tenants; at most 2"):
        registry.register(Middleware(passing))
    assert registry.count() == 4


def test_the_settings_say_how_many_there_may_be_unless_the_registry_does() -> None:
    registry = HookRegistry()
    with recorder(registry.hooks, settings=Settings(max_per_event=3)):
        for _ in range(3):
            registry.register(Middleware(passing))
        with pytest.raises(ConfigurationError, match="number 4"):
            registry.register(Middleware(passing))


def test_too_many_with_other_hooks_in_force_changes_nothing() -> None:
    others, registry = Hooks(), HookRegistry()
    for _ in range(20):
        others.before("tool.execute")(lambda op: None)
    with recorder([others, registry.hooks]):
        with pytest.raises(ConfigurationError, match="number 21"):
            registry.register(Middleware(passing))
        assert registry.count() == 0


def test_hooks_that_were_added_to_its_hooks_stay() -> None:
    log: list[str] = []
    registry = HookRegistry()

    @registry.hooks.before("tool.execute")
    def mine(op: Operation) -> None:
        log.append("mine")

    entry = registry.register(Middleware(noting(log, "a")))
    with recorder(registry):
        registry.toggle(entry.hook_id)
        search(log).invoke(call())
        registry.toggle(entry.hook_id)
        search(log).invoke(call())
        registry.deregister(entry.hook_id)
        assert registry.hooks.remove(mine)
        search(log).invoke(call())
    assert log == ["mine", "search x", "mine", "a in", "a out", "search x", "search x"]


def test_only_events_after_a_call_are_concurrent() -> None:
    for event in (EVENT, "tool.execute"):
        with pytest.raises(ConfigurationError, match="only hooks after a call"):
            HookRegistry(concurrent=[event])
    with pytest.raises(ConfigurationError, match="there is no event"):
        HookRegistry(concurrent=["x"])
    assert {form_of(phase, concurrent=False) for phase in ("", "pre", "post", "error")} == {
        "wrap",
        "before_next",
        "after_next",
        "error",
    }


def test_event_types_of_ones_own() -> None:
    registry = HookRegistry()
    with pytest.raises(ConfigurationError, match="there is no event 'parcel"):
        registry.register(Middleware(passing, "parcel.send.pre"))
    spanhook.register_kind("parcel.send")
    registry.register(Middleware(passing, "parcel.send.pre"))
    with recorder(registry.hooks) as seen, spanhook.operation("parcel.send", "box"):
        pass
    assert seen.operations[0].status == "success"
    assert registry.statistics().active_event_types == ("parcel.send.pre",)


# ------------------------------------------------------------------------------------------------ while operations run


def in_threads(work: Callable[[int], None], threads: int) -> None:
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, range(threads)))


@pytest.mark.parametrize("calls", [50, pytest.param(250, marks=pytest.mark.slow)])
def test_eight_threads_change_the_registry_while_operations_run(calls: int) -> None:
    registry = HookRegistry(allowed=[ACME], max_per_event=100)
    registry.register(definition(hook_id="kept", name="kept", config={"text": "."}))
    names = itertools.count()
    turns, running = threading.Semaphore(0), threading.Event()
    changed: list[str] = []

    def change(worker: int) -> None:
        chosen = random.Random(worker)
        while turns.acquire() and not running.is_set():
            mine = f"hook-{worker}-{next(names)}"
            registry.register(definition(hook_id=mine, name=mine, config={"text": ","}))
            for _ in range(3):
                chosen.choice((registry.toggle, registry.disable, registry.enable))(mine)
            registry.update(mine, priority=chosen.randrange(1000))
            registry.deregister(mine)
            changed.append(mine)

    @spanhook.tool
    def search(query: str) -> str:
        turns.release()
        return query

    @spanhook.tool("search")
    async def asearch(query: str) -> str:
        turns.release()
        return query

    found: list[str] = []

    def work(worker: int) -> None:
        if worker % 2:
            found.extend(search("x") for _ in range(calls))
        else:

            async def several() -> None:
                found.extend([await asearch("x") for _ in range(calls)])

            asyncio.run(several())

    with recorder(registry.hooks) as seen, ThreadPoolExecutor(8) as pool:
        changing = [pool.submit(change, worker) for worker in range(8)]
        try:
            in_threads(work, 4)
        finally:
            running.set()
            turns.release(8)
        for one in changing:
            one.result()
        assert len(found) == len(seen.operations) == 4 * calls
        assert {op.status for op in seen.operations} == {"success"}
    # Of each operation the hook that was always there ran once, and of the others only whole ones.
    assert {one.count(".") for one in found} == {1}
    assert {one.replace(".", "").rstrip(",") for one in found} == {"x"}
    assert registry.count() == 1
    assert changed
    assert registry.statistics().hooks["kept"].executions == 4 * calls


def test_an_operation_under_way_keeps_the_hooks_it_began_with() -> None:
    log: list[str] = []
    registry = HookRegistry()

    async def first(context: Any, call_next: Any) -> Any:
        registry.deregister("later")
        registry.register(Middleware(noting(log, "new"), priority=900))
        return await call_next(context)

    registry.register(Middleware(first, priority=1))
    registry.register(Middleware(noting(log, "later")), hook_id="later")
    with recorder(registry.hooks):
        search(log).invoke(call())
        registry.deregister(registry.registered()[0].hook_id)
        assert log == ["later in", "later out", "search x"]
        log.clear()
        search(log).invoke(call())
        assert log == ["new in", "new out", "search x"]


def test_an_update_leaves_no_moment_without_the_gate() -> None:
    registry = HookRegistry(allowed=[ACME])
    registry.register(definition(hook_id="a", handler_ref=f"{ACME}:Never"))
    done = threading.Event()

    def change(_worker: int) -> None:
        for priority in range(200):
            registry.update("a", priority=priority)
        done.set()

    @spanhook.tool
    def search(query: str) -> str:
        return query

    refused = asked = 0
    with recorder(registry.hooks), ThreadPoolExecutor(1) as pool:
        changing = pool.submit(change, 0)
        while not done.is_set():
            asked += 1
            try:
                search("x")
            except spanhook.Reject:
                refused += 1
        changing.result()
    assert refused == asked > 0


@pytest.mark.parametrize("most", [0, -1, True, 2.5, "20"])
def test_a_registry_holds_at_least_one_hook_for_an_event(most: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"max_per_event=.*; expected a whole number above 0"):
        HookRegistry(max_per_event=most)


def test_what_definitions_count_is_their_own() -> None:
    budget = {
        "handler_ref": "spanhook.hooks.budget:Budget",
        "event_type": "llm.call",
        "config": {"tokens": 9, "per": "all"},
    }
    limit = {
        "handler_ref": "spanhook.hooks.rate_limit:RateLimit",
        "event_type": "llm.call",
        "config": {"limit": "5/minute"},
    }
    registry = HookRegistry()
    for tenant, name in (("acme", "daily"), ("globex", "daily"), ("", "daily"), ("acme", "monthly")):
        for given in (budget, limit):
            registry.register({**given, "name": name, "tenant_id": tenant})
    handlers: list[Any] = [one.handler for one in registry.registered()]
    accounts = {one._account(Identity(tenant_id="acme"), "enforce")[0] for one in handlers if type(one) is Budget}
    assert len(accounts) == 4
    counted = set[Any]()
    for limiting in (one for one in handlers if type(one) is RateLimit):
        with spanhook.context(tenant_id="acme"), spanhook.operation("llm.call", "m") as op:
            counted.add(limiting._names(op))
    assert len(counted) == 4


def test_a_definition_remarks_what_its_handler_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spanhook.hooks.tool_policy.MANY_CALLS", 1)
    registry = HookRegistry()
    registry.register(
        {
            "name": "tools",
            "event_type": "tool.execute",
            "handler_ref": "spanhook.hooks.tool_policy:ToolPolicy",
            "config": {"rules": [{"deny": ["serch"]}]},
        }
    )
    with recorder(registry):
        search([]).invoke(call())
        remarks = [remark for hook in active.hooks for remark in hook._remarks()]
    assert remarks == ["rule 1, which denies 'serch', has matched no name in 1 tool calls"]
