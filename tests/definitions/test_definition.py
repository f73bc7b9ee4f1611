"""Definitions as data: every field acts, names of both kinds are read, and mistakes are named."""

import importlib
import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

import spanhook
from spanhook import ConfigurationError, Hooks, Settings
from spanhook.definitions import HookDefinition, HookRegistry
from spanhook.telemetry import concealed_for
from spanhook.testing import recorder
from tests.definitions import acme_hooks
from tests.definitions.parts import ACME, call, definition, search


def registry(*definitions: dict[str, Any]) -> HookRegistry:
    made = HookRegistry(allowed=[ACME])
    for one in definitions:
        made.register(one)
    return made


def found(made: HookRegistry, **settings: Any) -> Any:
    with recorder(made.hooks, settings=Settings(**settings)) as seen:
        result = search([]).invoke(call())
    return result.content, [(one.hook, one.decision, one.fail_mode) for one in seen.operations[0].decisions]


def test_names_of_the_json_are_the_seeds_and_shorter_ones_are_read_too() -> None:
    one = HookDefinition.model_validate(definition(hook_id="h", tenant_id="acme"))
    fields = definition(id="h", tenant="acme")
    fields["event"] = fields.pop("event_type")
    other = HookDefinition.model_validate({**fields, "created_at": one.created_at, "updated_at": one.updated_at})
    assert one == other
    told = json.loads(one.model_dump_json())
    assert (told["hook_id"], told["event_type"], told["tenant_id"]) == ("h", "tool.execute.pre", "acme")
    assert HookDefinition.model_validate_json(one.model_dump_json()) == one


def test_defaults() -> None:
    one = HookDefinition.model_validate(definition())
    assert one.hook_id.startswith("hook_")
    assert (one.priority, one.timeout_ms, one.enabled, one.tenant_id, one.fail_mode) == (None, 200.0, True, "", None)
    assert (one.config, one.tags, one.description) == ({}, (), "")
    assert one.created_at.tzinfo is not None


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("priority", -1, "greater than or equal to 0"),
        ("priority", 1001, "less than or equal to 1000"),
        ("priority", True, "valid integer"),
        ("timeout_ms", 0, "greater than 0"),
        ("timeout_ms", 5001, "less than or equal to 5000"),
        ("timeout_ms", float("nan"), "finite number"),
        ("event_type", "tool.execut.pre", "there is no event 'tool.execut.pre'"),
        ("event_type", "tool.execute.during", "there is no event"),
        ("fail_mode", "ajar", "'open' or 'closed'"),
        ("mode", "off", "'enforce' or 'shadow'"),
        ("enabled", "yes", "valid boolean"),
        ("handler_ref", "os.system", "a module and one name in it"),
        ("handler_ref", "os:path.join", "a module and one name in it"),
        ("handler_ref", "os:", "a module and one name in it"),
        ("handler_ref", "../x:y", "a module and one name in it"),
        ("name", "", "at least 1 character"),
        ("timeout", 5, "Extra inputs are not permitted"),
    ],
)
def test_mistakes_are_named_and_nothing_is_registered(field: str, value: Any, said: str) -> None:
    made = registry()
    with pytest.raises(ConfigurationError, match=field) as raised:
        made.register(definition(**{field: value}))
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)
    assert made.count() == 0
    assert len(made.hooks) == 0


def test_config_is_validated_and_given_as_keyword_arguments() -> None:
    assert found(registry(definition(config={"text": "?", "times": 2})))[0] == "found x??"
    assert found(registry(definition()))[0] == "found x!"


@pytest.mark.parametrize(
    ("config", "said"),
    [({"text": 5}, "text=5"), ({"txt": "?"}, "did you mean 'text'"), ({"text": "12345678901"}, "at most 10 char")],
)
def test_a_config_that_does_not_fit_is_refused(config: dict[str, Any], said: str) -> None:
    made = registry()
    with pytest.raises(ConfigurationError, match="Suffix") as raised:
        made.register(definition(config=config))
    assert said in str(raised.value)
    assert made.count() == 0


def test_priority_orders() -> None:
    first = definition(name="a", config={"text": "a"}, priority=200)
    second = definition(name="b", config={"text": "b"}, priority=100)
    assert found(registry(first, second))[0] == "found xba"


def test_enabled_acts() -> None:
    assert found(registry(definition(enabled=False)))[0] == "found x"


def test_tenant_acts() -> None:
    made = registry(definition(tenant_id="acme"))
    assert found(made)[0] == "found x"
    with spanhook.context(tenant_id="acme"):
        assert found(made)[0] == "found x!"


def fails(**fields: Any) -> dict[str, Any]:
    return definition(name="fails", handler_ref=f"{ACME}:Fails", **fields)


def test_fail_mode_acts() -> None:
    assert found(registry(fails()))[0] == "found x"
    assert found(registry(fails(fail_mode="open", priority=10)))[0] == "found x"
    content, decisions = found(registry(fails(fail_mode="closed")))
    assert content == "Tool call rejected: hook 'fails' failed: KeyError"
    assert decisions == [("fails", "error", "closed")]


def test_without_a_fail_mode_the_priority_and_the_settings_say() -> None:
    assert found(registry(fails(priority=99)))[1] == [("fails", "error", "closed")]
    assert found(registry(fails(priority=100)))[1] == [("fails", "error", "open")]
    assert found(registry(fails(priority=100)), fail_open_default=False)[1] == [("fails", "error", "closed")]
    assert found(registry(fails(fail_mode="open")), fail_open_default=False)[1] == [("fails", "error", "open")]


def test_timeout_acts_and_without_one_the_settings_say() -> None:
    (bound,) = registry(definition(timeout_ms=50)).hooks.bound
    assert bound.timeout_ns == 50_000_000
    (bound,) = registry(definition()).hooks.bound
    assert not bound.timeout_set


def test_shadow_acts() -> None:
    made = registry(definition(mode="shadow", handler_ref=f"{ACME}:Never"))
    with recorder(made.hooks) as seen:
        assert search([]).invoke(call()).content == "found x"
        made.hooks.flush()
    op = seen.operations[0]
    assert op.decisions == ()
    assert [one.decision for one in op.shadow_decisions] == ["reject"]


def test_a_definition_may_name_a_hook() -> None:
    made = registry(definition(name="never", handler_ref=f"{ACME}:Never"))
    assert found(made) == ("Tool call rejected: search is never run", [("never", "reject", "closed")])


def test_a_definition_may_name_a_ready_made_hook() -> None:
    made = HookRegistry()
    made.register(
        {
            "name": "policy",
            "event_type": "tool.execute.pre",
            "priority": 50,
            "handler_ref": "spanhook.hooks.tool_policy:ToolPolicy",
            "config": {"rules": [{"deny": ["search"], "reason": "No searching"}]},
        }
    )
    assert found(made) == ("Tool call rejected: No searching", [("policy", "reject", "closed")])


def test_a_hook_that_has_nothing_for_the_event_is_refused() -> None:
    made = registry()
    with pytest.raises(ConfigurationError, match="Never has none of after, so it would do nothing at"):
        made.register(definition(handler_ref=f"{ACME}:Never", event_type="tool.execute.post"))
    assert made.count() == 0


def test_changing_a_definition_validates_it_and_keeps_the_rest() -> None:
    one = HookDefinition.model_validate(definition(tags=["a"], timeout_ms=50))
    other = one.changed(priority=5)
    assert (other.priority, other.tags, other.timeout_ms, other.hook_id) == (5, ("a",), 50, one.hook_id)
    assert other.updated_at >= one.updated_at
    assert other.created_at == one.created_at
    with pytest.raises(ValidationError):
        one.changed(priority=-5)


def test_handlers_run() -> None:
    acme_hooks.RAN.clear()
    found(registry(definition()))
    assert acme_hooks.RAN == ["!"]


# ------------------------------------------------------------------------------------- what the handler itself brings


def made_both_ways(reference: str, config: dict[str, Any], kind: str) -> tuple[Any, Any]:
    """A ready-made hook as a definition, and by itself."""
    registry = HookRegistry()
    entry = registry.register({"name": "same", "event_type": kind, "handler_ref": reference, "config": config})
    module, _, name = reference.partition(":")
    return entry, getattr(importlib.import_module(module), name)(**config)


@pytest.mark.parametrize(
    ("reference", "config", "kind", "expected"),
    [
        ("spanhook.hooks.rate_limit:RateLimit", {"limit": "1/minute"}, "tool.execute", (60, "closed")),
        ("spanhook.hooks.tool_policy:ToolPolicy", {"default": "deny"}, "tool.execute.pre", (50, "closed")),
        ("spanhook.hooks.pii_redaction:PIIRedaction", {}, "llm.call.pre", (0, "closed")),
        ("spanhook.hooks.circuit_breaker:CircuitBreaker", {}, "llm.call", (80, "open")),
        ("spanhook.hooks.loop_guard:LoopGuard", {}, "tool.execute.pre", (58, "closed")),
        ("spanhook.hooks.injection_scan:InjectionScan", {}, "tool.execute.post", (40, "open")),
    ],
)
def test_without_its_own_it_has_those_of_the_handler(
    reference: str, config: dict[str, Any], kind: str, expected: tuple[int, str]
) -> None:
    entry, hook = made_both_ways(reference, config, kind)
    assert (entry.priority, entry.fail_mode) == expected
    [bound, *_] = Hooks(hook).bound
    assert (bound.priority, bound.fail_mode) == expected
    changed = entry.definition.changed(priority=200, fail_mode="closed")
    other = HookRegistry().register(changed)
    assert (other.priority, other.fail_mode) == (200, "closed")


def test_middleware_has_100_unless_its_class_says_otherwise() -> None:
    made = HookRegistry(allowed=[ACME])
    entry = made.register(definition(hook_id="a"))
    assert (entry.priority, entry.fail_mode) == (100, "open")
    entry = made.register(definition(hook_id="b", handler_ref=f"{ACME}:Early"))
    assert (entry.priority, entry.fail_mode) == (7, "closed")
    entry = made.update("b", priority=8, fail_mode="open")
    assert (entry.priority, entry.fail_mode) == (8, "open")
    assert made.update("b", priority=None).priority == 7


def test_a_hook_refuses_in_its_own_words_when_it_fails() -> None:
    limit = {"limit": "1/minute", "store": "redis://127.0.0.1:1/0"}
    made = HookRegistry()
    made.register(
        {"name": "rate", "event_type": "tool.execute.pre", "handler_ref": "spanhook.hooks.rate_limit:RateLimit"}
        | {"config": limit}
    )
    with recorder(made.hooks) as seen:
        search([]).invoke(call())
    [decision] = seen.operations[0].decisions
    assert (decision.decision, decision.status_code, decision.fail_mode) == ("error", 503, "closed")


def test_what_a_hook_does_once_it_does_as_a_definition_too(tmp_path: Path) -> None:
    made = HookRegistry()
    for name, reference, event, config in (
        ("audit", "spanhook.hooks.audit_log:AuditLog", "tool.execute", {"path": str(tmp_path)}),
        ("redaction", "spanhook.hooks.pii_redaction:PIIRedaction", "llm.call", {}),
    ):
        made.register({"name": name, "event_type": event, "handler_ref": reference, "config": config})
    with recorder(made.hooks):
        search([]).invoke(call())
        assert concealed_for("", "write to ada@example.com") != "write to ada@example.com"
        [path] = tmp_path.iterdir()
        kinds = [json.loads(line)["kind"] for line in path.read_text().splitlines()]
    assert kinds.count("operation") == 1
