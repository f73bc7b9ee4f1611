import json
from typing import Any

import pytest

from spanhook.server.routes.recorded import _of, kind_of
from spanhook.store.control import Run, RunDetail, StoredLog, StoredSpan

MESSAGES = [{"role": "user", "parts": [{"type": "text", "content": "Refund order 7"}]}]


def span(kind: str, *, failed: bool = False, message: str = "", **attributes: Any) -> StoredSpan:
    given = {name.replace("__", "."): value for name, value in attributes.items()}
    return StoredSpan(
        span_id="1", parent_id="", run_id="r", trace_id="t", tenant_id="", kind=kind, status="", name="a span",
        scope="", start_ns=0, end_ns=1, attributes=given, events=(), resource={}, failed=failed, message=message,
    )  # fmt: skip


def found(one: StoredSpan, *logs: StoredLog, **run: Any) -> tuple[dict[str, Any], list[str]]:
    made = _of(RunDetail(run=a_run(**run), spans=(one,), logs=logs, more=False), one)
    return made.sample, made.missing


def a_run(**given: Any) -> Run:
    fields: dict[str, Any] = {name: 0 if "int" in str(kind) else "" for name, kind in Run.__annotations__.items()}
    fields |= {"by_model": {}, "tenant_id": "acme", **given}
    return Run(**fields)


def test_a_tool_has_its_arguments_and_result() -> None:
    one = span(
        "tool.execute",
        gen_ai__tool__name="refund",
        gen_ai__tool__call__arguments='{"amount": 60}',
        gen_ai__tool__call__result='["done"]',
        user__id="ada",
        spanhook__tenant__id="globex",  # not the key's
    )
    expected = {"name": "refund", "tenant_id": "acme", "user_id": "ada"}
    assert found(one) == ({**expected, "arguments": {"amount": 60}, "result": ["done"]}, [])


def test_what_was_not_captured_is_said() -> None:
    assert found(span("tool.execute", gen_ai__tool__name="refund")) == (
        {"name": "refund", "tenant_id": "acme"},
        ["arguments", "result"],
    )
    assert found(span("llm.call"))[1] == ["messages", "result"]
    assert found(span("memory.store"))[1] == ["inputs", "result"]
    assert found(span("tool.execute", failed=True, message="no money")) == (
        {"error": "no money", "tenant_id": "acme"},
        ["arguments"],
    )


def test_a_model_has_its_messages_in_attributes_or_in_an_event() -> None:
    content: dict[str, Any] = {
        "gen_ai.input.messages": json.dumps(MESSAGES),
        "gen_ai.system_instructions": [{"type": "text", "content": "Be kind."}, {"type": "image"}, 5],
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": []}]),
    }
    one = span("llm.call", gen_ai__request__model="m", gen_ai__provider__name="openai")
    expected = {
        "name": "m", "model": "m", "provider": "openai", "tenant_id": "acme", "messages": MESSAGES,
        "system": "Be kind.", "result": [{"role": "assistant", "parts": []}],
    }  # fmt: skip
    event = "gen_ai.client.inference.operation.details"
    log = StoredLog(span_id="1", event_name=event, severity=0, time_ns=0, attributes=content, body=None)
    assert found(one, log) == (expected, [])
    assert found(span("llm.call", **{name.replace(".", "__"): value for name, value in content.items()}))[1] == []


@pytest.mark.parametrize("cut", ['{"amount": 6', "[1]", "7", "[" * 100_000, '{"a":' * 60 + "1" + "}" * 60])
def test_what_cannot_be_read_was_not_captured(cut: str) -> None:
    assert "arguments" in found(span("tool.execute", gen_ai__tool__call__arguments=cut))[1]
    assert "messages" in found(span("llm.call", gen_ai__input__messages=cut.replace("[1]", "{}")))[1]


def test_the_kind_of_an_event() -> None:
    assert [kind_of(one) for one in ("tool.execute.pre", "tool.execute", "llm.call.post")] == [
        "tool.execute", "tool.execute", "llm.call"
    ]  # fmt: skip
