from typing import Any

import pytest

from spanhook.definitions import HookDefinition
from spanhook.dry_run import dry_run
from spanhook.errors import ConfigurationError

POLICY = HookDefinition(
    name="refunds",
    event_type="tool.execute.pre",
    handler_ref="spanhook.hooks.tool_policy:ToolPolicy",
    config={"default": "allow", "rules": [{"deny": ["refund"], "when": "arguments.amount > 50", "reason": "ask"}]},
    enabled=False,
    mode="shadow",
)
REDACTION = HookDefinition(
    name="redaction", event_type="llm.call", handler_ref="spanhook.hooks.pii_redaction._hook:PIIRedaction"
)


def test_a_refusal_is_the_result_whether_the_hook_is_enabled_or_a_shadow() -> None:
    outcome = dry_run(POLICY, {"name": "refund", "arguments": {"amount": 60}, "metadata": {"a": 1}})
    (result,) = outcome.results
    assert (result.decision, result.error, result.data) == ("reject", "ask", {"status_code": 403})
    after = outcome.context_after
    assert (after["abort"], after["abort_reason"], after["metadata"]) == (True, "ask", {"a": 1})
    assert after["arguments"] == {"amount": 60}


def test_a_tool_is_known_by_each_of_its_names() -> None:
    outcome = dry_run(POLICY, {"name": "pay_back", "names": ["refund"], "arguments": {"amount": 60}})
    assert [one.decision for one in outcome.results] == ["reject"]


def test_what_is_allowed_returns_the_samples_result() -> None:
    outcome = dry_run(POLICY, {"name": "refund", "arguments": {"amount": 6}, "result": {"paid": 6}})
    assert [one.decision for one in outcome.results] == ["allow"]
    assert (outcome.context_after["abort"], outcome.context_after["result"]) == (False, {"paid": 6})


def test_what_a_hook_rewrites_and_replaces_is_the_context_after() -> None:
    messages = [{"role": "user", "content": "write to ada@mail.example"}]
    outcome = dry_run(REDACTION, {"name": "m", "messages": messages, "result": "call ada@mail.example"})
    assert [one.decision for one in outcome.results] == ["modify", "replace"]
    assert outcome.context_after["messages"] == [{"role": "user", "content": "write to [EMAIL]"}]
    assert outcome.context_after["result"] == "call [EMAIL]"


def test_a_hook_of_a_tenant_runs_for_that_tenant() -> None:
    mine = POLICY.changed(tenant_id="acme")
    assert dry_run(mine, {"name": "refund", "arguments": {"amount": 60}}).context_after["tenant_id"] == "acme"
    assert dry_run(mine, {"name": "refund", "arguments": {"amount": 60}, "tenant_id": "globex"}).results == []


def test_a_call_may_fail() -> None:
    outcome = dry_run(POLICY, {"name": "search", "error": "no connection"})
    assert outcome.context_after["error"] == "no connection"


@pytest.mark.parametrize("sample", [{"x": 1}, {"arguments": [1]}, {"messages": 5}, {"system": 5}])
def test_a_sample_that_cannot_be_used_is_named(sample: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        dry_run(POLICY, sample)


def test_only_handlers_on_the_list_are_made() -> None:
    with pytest.raises(ConfigurationError, match="is not allowed"):
        dry_run(POLICY, {}, ["acme.hooks"])


def test_a_hook_fails_in_a_dry_run_as_its_handler_says() -> None:
    fields = {"name": "rate", "event_type": "tool.execute.pre", "handler_ref": "spanhook.hooks.rate_limit:RateLimit"}
    config = {"limit": "1/minute", "store": "redis://127.0.0.1:1/0"}
    outcome = dry_run(HookDefinition.model_validate({**fields, "config": config}), {"name": "refund"})
    assert (outcome.context_after["abort"], outcome.context_after["status_code"]) == (True, 503)
    assert [(one.decision, one.fail_mode) for one in outcome.results] == [("error", "closed")]
