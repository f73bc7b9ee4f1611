from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import spanhook
from spanhook import ConfigurationError, Reject
from spanhook.config import Follower, load_file, load_own
from spanhook.control_plane.applying import Applied, Applier
from spanhook.control_plane.sets import HookSet, opened, sealed
from spanhook.engine import registry
from spanhook.telemetry import telemetry

OWN = """
version: 1
settings: {chain_timeout_ms: 300}
policies:
  - {use: tool_policy, id: own, with: {default: allow, rules: [{deny: [drop]}]}}
"""
CLASS = "spanhook.hooks.tool_policy:ToolPolicy"


@spanhook.tool
def drop() -> str:
    return "dropped"


@spanhook.tool
def refund() -> str:
    return "paid"


@spanhook.tool
def search() -> str:
    return "found"


def refused() -> set[str]:
    """The tools that may not run now."""
    found = set[str]()
    for tool in (drop, refund, search):
        try:
            tool()
        except Reject:
            found.add(tool.__name__)
    return found


def denying(tool: str) -> dict[str, Any]:
    return {"default": "allow", "rules": [{"deny": [tool]}]}


def definition(name: str, tool: str, **fields: Any) -> dict[str, Any]:
    given = {"hook_id": name, "name": name, "event_type": "tool.execute.pre", "handler_ref": CLASS}
    return {**given, "config": denying(tool), **fields}


def policy(name: str, tool: str, **fields: Any) -> dict[str, Any]:
    return {"use": "tool_policy", "id": name, "with": denying(tool), **fields}


def made(*definitions: Any, policies: Any = (), version: int = 1, **settings: Any) -> HookSet:
    sent = sealed("acme", version, definitions=list(definitions), policies=list(policies), settings=settings, key=None)
    return opened(sent, None)


def group(*policies: Any, tenant: str = "") -> dict[str, Any]:
    return {"tenant_id": tenant, "policies": list(policies)}


class Process:
    """This process with a configuration file in force."""

    def __init__(self, path: Path) -> None:
        self.path = path
        file = load_file(str(path))
        policies, own = file.registry(), load_own(file)
        spanhook.instrument([*own.registries, policies], settings=file.settings({}), only=())
        self.follower = Follower(file, own, policies, {})
        self.applier = Applier(self.follower)
        self.applier.begin("open")

    def apply(self, *definitions: Any, **more: Any) -> Applied:
        return self.applier.apply(made(*definitions, **more))


@pytest.fixture
def process(tmp_path: Path) -> Process:
    path = tmp_path / "spanhook.yaml"
    path.write_text(OWN)
    return Process(path)


def test_before_the_first_set_everything_or_nothing_is_refused(process: Process) -> None:
    assert refused() == {"drop"}
    process.applier.begin("closed")
    assert refused() == {"drop", "refund", "search"}
    process.apply()
    assert refused() == {"drop"}


def test_a_set_replaces_the_one_before_beside_the_processs_own_hooks(process: Process) -> None:
    process.apply(definition("a", "refund"))
    assert refused() == {"drop", "refund"}
    process.apply(policies=[group(policy("b", "search"))])
    assert refused() == {"drop", "search"}
    process.apply(definition("a", "refund"), policies=[group(policy("b", "search"), policy("own", "refund"))])
    assert refused() == {"drop", "refund", "search"}
    process.apply()
    assert refused() == {"drop"}


def test_what_did_not_change_keeps_its_hook_and_statistics(process: Process) -> None:
    first = process.apply(definition("a", "refund"), policies=[group(policy("b", "search"))])
    refused()
    later = process.apply(
        definition("new", "nothing"),
        definition("a", "refund", updated_at="2030-01-01T00:00:00Z"),
        policies=[group(policy("c", "nothing"), policy("b", "search"))],
        version=2,
    )
    assert first.definitions is not None
    assert later.definitions is not None
    before, after = first.definitions.get("a"), later.definitions.get("a")
    assert before is after
    assert before is not None
    refused()
    assert later.definitions.statistics().hooks["a"].executions == 4  # `own` refuses `drop` before it
    assert first.policies[""][0].hook is later.policies[""][1].hook


def test_policies_of_two_tenants_may_have_the_same_id(process: Process) -> None:
    groups = [group(policy("a", "refund"), tenant=""), group(policy("a", "search", tenant_id="x"), tenant="x")]
    assert process.apply(policies=groups).missing == {}
    assert refused() == {"drop", "refund"}


UNUSABLE: dict[str, Callable[[], dict[str, Any]]] = {
    "a module that is not allowed": lambda: definition("x", "search", handler_ref="os:system"),
    "a class that is not there": lambda: definition("x", "search", handler_ref="spanhook.hooks.tool_policy:Nothing"),
    "a module that is not there": lambda: definition("x", "search", handler_ref="spanhook.hooks.nothing:Nothing"),
    "settings that are not its own": lambda: definition("x", "search", config={"default": "perhaps"}),
    "an event that is not known here": lambda: definition("x", "search", event_type="ritual.perform.pre"),
    "a field that is not known here": lambda: definition("x", "search", urgency=1),
}


@pytest.mark.parametrize("unusable", UNUSABLE)
def test_a_definition_that_cannot_be_used_here_is_told_and_the_rest_holds(process: Process, unusable: str) -> None:
    applied = process.apply(UNUSABLE[unusable](), definition("a", "refund"))
    assert set(applied.missing) == {"x"}
    assert applied.missing["x"]
    assert refused() == {"drop", "refund"}


def test_what_is_no_definition_is_told_too(process: Process) -> None:
    assert set(process.apply(7, definition("a", "refund")).missing) == {"definitions[0]"}


@pytest.mark.parametrize(
    "unusable",
    [
        {"use": "not_installed", "id": "x"},
        {"use": "tool_policy", "id": "x", "with": {"default": "perhaps"}},
        {"use": "tool_policy", "id": "x", "when": "1 +", "with": {"default": "deny"}},
        {"use": "budget", "id": "x", "with": {"tokens": 1, "store": "not there"}},
    ],
)
def test_a_policy_that_cannot_be_used_here_is_told_and_the_rest_holds(process: Process, unusable: Any) -> None:
    applied = process.apply(policies=[group(unusable, policy("a", "refund"))])
    assert set(applied.missing) == {"policy x"}
    assert refused() == {"drop", "refund"}


def test_a_set_that_cannot_be_used_changes_nothing(process: Process) -> None:
    before = process.apply(definition("a", "refund"))
    many = [definition(f"m{number}", "search") for number in range(30)]
    with pytest.raises(ConfigurationError, match="at most"):
        process.apply(*many, mode="shadow")
    assert process.applier.now is before
    assert telemetry.settings.mode == "enforce"
    assert refused() == {"drop", "refund"}


def test_settings_override_those_of_the_file_until_they_are_gone(process: Process) -> None:
    process.apply(definition("a", "refund"), mode="shadow", chain_timeout_ms=7.0)
    assert (telemetry.settings.mode, telemetry.settings.chain_timeout_ms) == ("shadow", 7.0)
    assert refused() == set()
    process.path.write_text(OWN.replace("drop", "search").replace("300", "400"))
    assert process.follower.reload()
    assert (telemetry.settings.mode, telemetry.settings.chain_timeout_ms) == ("shadow", 7.0)
    process.apply(definition("a", "refund"))
    assert (telemetry.settings.mode, telemetry.settings.chain_timeout_ms) == ("enforce", 400)
    assert refused() == {"refund", "search"}


@pytest.mark.parametrize("name", ["definitions_allow", "definitions_dir", "strict", "content", "allow"])
def test_a_server_cannot_make_other_settings(process: Process, name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"may not make: {name}"):
        process.apply(**{name: ["os"]})
    assert refused() == {"drop"}


def test_the_control_plane_of_a_running_process_stays(process: Process, caplog: pytest.LogCaptureFixture) -> None:
    process.path.write_text(OWN + "control_plane: {url: 'https://other.example'}\n")
    assert not process.follower.reload()
    assert "control_plane: cannot change while the application runs" in caplog.text


def test_sets_come_after_the_hooks_that_were_there(process: Process) -> None:
    process.apply(definition("a", "refund"))
    names = [hook.name for hook in registry.hooks]
    assert names.index("own") < names.index("a")


# ------------------------------------------------------------------------------------------------ what tenants add


def test_hooks_of_a_tenant_run_after_those_for_all_whatever_their_priority(process: Process) -> None:
    own = [
        definition("tenants", "refund", tenant_id="acme", priority=0),
        definition("for all", "refund", priority=900, fail_mode="closed"),
    ]
    for _ in range(2):  # a set that comes later keeps the order, and the hooks
        process.apply(
            *own,
            policies=[
                group(policy("tenants-policy", "refund", priority=0, tenant_id="acme"), tenant="acme"),
                group(policy("policy-for-all", "refund", priority=950)),
            ],
            version=2,
        )
        with spanhook.context(tenant_id="acme"):
            assert refused() == {"drop", "refund"}
        ordered = [bound.name for bound in registry._ordered]
        assert ordered == ["own", "for all", "policy-for-all", "tenants", "tenants-policy"]


def test_too_many_hooks_of_a_tenant_do_not_keep_a_set_from_applying(process: Process) -> None:
    process.apply()
    many = [policy(f"p{number}", f"tool {number}", tenant_id="acme") for number in range(25)]
    definitions = [definition(f"d{number}", "nothing", tenant_id="acme") for number in range(15)]
    applied = process.apply(*definitions, definition("gate", "refund"), policies=[group(*many, tenant="acme")])
    assert refused() == {"drop", "refund"}
    assert set(applied.missing) == {f"policy p{number} of acme" for number in range(5, 25)}
    assert "at most 20 are allowed" in applied.missing["policy p5 of acme"]
    assert len(applied.policies["acme"]) == 5


def test_hooks_that_a_tenant_has_added_do_not_keep_the_operator_from_adding_some_for_it(process: Process) -> None:
    process.apply(*(definition(f"theirs {number}", "nothing", tenant_id="acme") for number in range(20)))
    with_more = "".join(
        f"  - {{use: tool_policy, id: more{number}, tenant_id: acme, with: {{rules: [{{deny: [search]}}]}}}}\n"
        for number in range(20)
    )
    process.path.write_text(OWN + with_more)
    assert process.follower.reload()
    changed = [definition(f"theirs {number}", "other", tenant_id="acme") for number in range(25)]
    applied = process.apply(*changed, definition("gate", "refund"), version=2)
    assert set(applied.missing) == {f"theirs {number}" for number in range(20, 25)}
    with spanhook.context(tenant_id="acme"):
        assert refused() == {"drop", "refund", "search"}


def test_definitions_of_a_tenant_at_an_event_and_its_kind_count_together(process: Process) -> None:
    many = [
        definition(f"{event} {number}", "nothing", tenant_id="acme", event_type=event)
        for event in ("tool.execute.pre", "tool.execute")
        for number in range(15)
    ]
    applied = process.apply(*many, definition("gate", "refund"))
    assert refused() == {"drop", "refund"}
    assert set(applied.missing) == {f"tool.execute {number}" for number in range(5, 15)}


def test_too_many_hooks_for_all_are_refused_as_a_set(process: Process) -> None:
    process.apply(definition("gate", "refund"))
    with pytest.raises(ConfigurationError, match="number 21"):
        process.apply(*(definition(f"d{number}", "nothing") for number in range(21)), version=2)
    assert refused() == {"drop", "refund"}
