"""Content off means off: nothing that was planted leaves the process, whichever way a string can leave by."""

import asyncio
import json
import logging
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.tools import StructuredTool
from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk._logs import LoggingHandler

import spanhook
from spanhook import HookError, Hooks, Operation, Request, Settings, semconv
from spanhook.cli.conformance.libraries.langchain import ASK, Calls, agent, consume
from spanhook.cli.conformance.libraries.langchain_core import ScriptedChat, ScriptedRetriever
from spanhook.cli.conformance.subject import Body
from spanhook.diagnostics import internal
from spanhook.engine import call, registry
from spanhook.model import Adapter, Reading, Usage
from spanhook.semconv import EVENT_DECISION
from spanhook.testing import Recorder, recorder
from tests.stub import Library, stubbed, use

SECRET = "s3cr3t-4711"


def exported(seen: Recorder) -> bytes:
    """Everything that was recorded, as an exporter sends it."""
    spans = encode_spans(seen.spans).SerializeToString()
    logs = encode_logs(list(seen._logs.get_finished_logs())).SerializeToString()
    data = seen._reader.get_metrics_data()
    metrics = encode_metrics(data).SerializeToString() if data is not None else b""
    return b"".join((spans, logs, metrics))


@contextmanager
def bridged(seen: Recorder) -> Generator[None]:
    """The ``logging`` module's records going out over OTLP too."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer SDKs say so of it; applications use it all the same
        handler = LoggingHandler(logging.WARNING, seen.logger_provider)
    root = logging.getLogger()
    root.addHandler(handler)
    internal.fatal = False
    try:
        yield
    finally:
        root.removeHandler(handler)
        internal.counts.clear()
        internal.lost.clear()
        internal._seen.clear()


def deep(text: str) -> Exception:
    """An exception that says it in every way there is."""
    try:
        try:
            raise KeyError(text)
        except KeyError as error:
            raise ValueError(f"wrong: {text}") from error
    except ValueError as error:
        error.add_note(text)
        group = ExceptionGroup(text, [error, OSError(2, text, text)])
        group.__context__ = RuntimeError(text)
        return group


def _fails(form: str, **options: Any) -> Callable[[str], Hooks]:
    def make(text: str) -> Hooks:
        hooks = Hooks()

        def fail(op: Operation) -> None:
            raise deep(text)

        async def afail(op: Operation) -> None:
            await asyncio.sleep(0)
            raise HookError(text)

        getattr(hooks, form)("*", **options)(fail)
        if "blocking" not in options:
            getattr(hooks, form)("*", timeout=60.0, **options)(afail)
        return hooks

    return make


def _watches(text: str) -> Hooks:
    hooks = Hooks()

    def fail(op: Operation) -> None:
        raise deep(text)

    hooks.on("*", fail, level="trace")
    return hooks


def _around(text: str) -> Hooks:
    hooks = Hooks()

    @hooks.around("*", fail_mode="open")
    def fail(op: Operation) -> Iterator[None]:
        yield
        raise deep(text)

    return hooks


def _filters(text: str) -> Hooks:
    def when(op: Operation) -> bool:
        raise deep(text)

    hooks = Hooks()
    hooks.before("*", fail_mode="open", when=when)(lambda op: None)
    return hooks


def _misuses(text: str) -> Hooks:
    hooks = Hooks()

    @hooks.before("*", fail_mode="open", name="replace")
    def replace(op: Operation) -> None:
        op.replace(messages=[{"role": [text], "parts": text}], arguments={text: text}, inputs=text)

    @hooks.before("*", fail_mode="open", name="respond")
    def respond(op: Operation) -> None:
        op.respond({text: text})

    @hooks.before("*", fail_mode="open", name="returned")
    def returned(op: Operation) -> str:
        return text

    hooks.after("*", name="late")(lambda op: op.respond(object()))
    return hooks


HOOKS: dict[str, Callable[[str], Hooks | None]] = {
    "none": lambda text: None,
    "before open": _fails("before", fail_mode="open"),
    "before closed": _fails("before"),
    "before blocking": _fails("before", fail_mode="open", blocking=True, timeout=60.0),
    "after": _fails("after"),
    "after closed": _fails("after", priority=50),
    "on_error": _fails("on_error"),
    "around": _around,
    "when": _filters,
    "subscription": _watches,
    "misuse": _misuses,
}


def _tool(text: str) -> None:
    def look_up(query: str) -> str:
        """Look something up."""
        raise deep(query)

    StructuredTool.from_function(look_up).invoke({"query": text})


def _invalid(text: str) -> None:
    def look_up(query: int) -> str:
        """Look something up."""
        return ""

    StructuredTool.from_function(look_up).invoke({"query": text})


def _chat(text: str) -> None:
    class Failing(ScriptedChat):
        def _generate(self, *args: Any, **kwargs: Any) -> Any:
            raise deep(text)

    Failing(body=Body()).invoke(text)


def _works(text: str) -> None:
    ScriptedChat(body=Body()).invoke(text)
    list(ScriptedChat(body=Body()).stream(text))
    ScriptedRetriever(body=Body()).invoke(text)

    def look_up(query: str) -> str:
        """Look something up."""
        return query

    StructuredTool.from_function(look_up).invoke({"query": text})


CALLS: dict[str, Callable[[str], Any]] = {"tool": _tool, "invalid": _invalid, "chat": _chat, "works": _works}


@pytest.mark.every_combination
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("hooks", HOOKS)
def test_nothing_that_was_planted_leaves(hooks: str, call: str) -> None:
    with recorder(HOOKS[hooks](SECRET)) as seen, bridged(seen):
        with suppress(Exception):
            CALLS[call](SECRET)
        registry.flush()
        sent = exported(seen)
    assert SECRET.encode() not in sent
    assert sent


def test_what_is_asked_for_leaves() -> None:
    for asked in (Settings(error_messages=True), Settings(content="SPAN_ONLY")):
        with recorder(_fails("before", fail_mode="open")(SECRET), settings=asked) as seen, bridged(seen):
            with suppress(Exception):
                _tool("x")
            sent = exported(seen)
        assert sent.count(SECRET.encode()) >= 3  # the span's decision, the event, the bridged record


def test_standard_error_keeps_everything(caplog: pytest.LogCaptureFixture) -> None:
    with recorder(_fails("before", fail_mode="open")(SECRET)) as seen, bridged(seen), suppress(Exception):
        _tool("x")
    assert SECRET in caplog.text
    assert SECRET in seen.operations[0].decisions[0].reason


def reasons(seen: Recorder) -> list[str]:
    """Why hooks decided what they decided, as the log events say."""
    return [event["attributes"]["spanhook.decision.reason"] for event in seen.events if event["name"] == EVENT_DECISION]


def test_our_own_words_about_a_hook_are_told() -> None:
    with recorder(_misuses(SECRET)) as seen:
        _works("x")
        told = reasons(seen)
    assert any("op.replace() was given arguments=, inputs=" in reason for reason in told)


def test_a_replaced_result_that_came_too_late_is_told_so() -> None:
    hooks = Hooks()
    hooks.after("llm.call")(lambda op: op.respond("late"))
    with stubbed(hooks) as (library, seen):
        use(library, "stream", "x")
        [told] = reasons(seen)
    assert "too late" in told


# ------------------------------------------------------------------------------------------------ surrogates

BROKEN = "broken \ud800 text"


def _everywhere(text: str, library: Library) -> None:
    """One string in every place that takes one."""

    def started(_instance: Any, _args: Any, _kwargs: Any) -> dict[str, Any]:
        return {semconv.GEN_AI_TOOL_NAME: text, semconv.GEN_AI_REQUEST_STOP_SEQUENCES: (text, text)}

    def said(_result: Any) -> tuple[dict[str, Any], Usage]:
        return {semconv.GEN_AI_RESPONSE_MODEL: text, semconv.GEN_AI_RESPONSE_FINISH_REASONS: (text,)}, Usage(1, 1)

    def output(_result: Any) -> list[dict[str, Any]]:
        return [{"role": text, "parts": [{"type": "text", "content": text}]}]

    def request(_instance: Any, _args: Any, _kwargs: Any) -> Request:
        messages = [{"role": text, "parts": [{"type": text, text: [text]}]}]
        return Request(messages, text, [text], {text: text}, text, text)

    tool = Adapter(
        kind="tool.execute",
        start=started,
        reading=Reading(request=request, output=output),
    )
    model = Adapter(
        kind="llm.call",
        start=started,
        reading=Reading(response=said, request=request, output=output),
    )
    with spanhook.context(tenant_id=text, user_id=text, session_id=text, more=text):
        call(tool, str, None, (text,), {})
        call(model, str, None, (text,), {})
        with suppress(ValueError):
            library.work(ValueError(text))


def _hooked(text: str) -> Hooks:
    hooks = Hooks()

    @hooks.before("*", name=text or "x", fail_mode="open")
    def fail(op: Operation) -> None:
        raise ValueError(text)

    @hooks.before("tool.execute", name="reject")
    def reject(op: Operation) -> None:
        raise spanhook.Reject(text)

    return hooks


@pytest.mark.parametrize("content", ["NO_CONTENT", "SPAN_AND_EVENT"])
def test_a_lone_surrogate_costs_nothing(content: Any) -> None:
    settings = Settings(content=content, error_messages=True, tenant_metrics=True)
    for hooks in (None, _hooked(BROKEN)):
        with stubbed(hooks, settings) as (library, seen):
            with suppress(spanhook.Reject):
                _everywhere(BROKEN, library)
            assert exported(seen)
            assert len(seen.spans) == (3 if hooks is None else 1)


@pytest.mark.slow
@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(text=st.text(st.characters(codec=None), min_size=1))
def test_any_string_can_be_exported(text: str) -> None:
    for content in ("NO_CONTENT", "SPAN_AND_EVENT"):
        asked = Settings(content=content, error_messages=True, tenant_metrics=True)
        with stubbed(_hooked(text), asked) as (library, seen):
            with suppress(spanhook.Reject):
                _everywhere(text, library)
            assert exported(seen)


@pytest.mark.parametrize("content", ["NO_CONTENT", "SPAN_ONLY"])
def test_input_and_output_under_the_names_of_other_readers(content: Any) -> None:
    with recorder(settings=Settings(content=content, input_output_values=True)) as seen:
        consume(agent(Calls()), "invoke")
        spans = seen.spans
    found = {
        kind: [dict(span.attributes or {}) for span in spans if (span.attributes or {})[semconv.KIND] == kind]
        for kind in ("agent.invoke", "tool.execute", "llm.call")
    }
    assert [one["input.value"] for one in found["agent.invoke"]] == [ASK["messages"][0]["content"]]
    assert all(one["output.value"] for one in found["agent.invoke"])
    assert all(json.loads(str(one["input.value"])) for one in found["tool.execute"])
    assert all(one["output.value"] for one in found["tool.execute"] if one[semconv.STATUS] == "success")
    assert not [one for one in found["llm.call"] if "input.value" in one or "output.value" in one]
    assert (semconv.GEN_AI_INPUT_MESSAGES in found["llm.call"][0]) == (content == "SPAN_ONLY")


def test_no_content_under_other_names_unless_asked_for() -> None:
    with recorder(settings=Settings(content="SPAN_AND_EVENT")) as seen:
        consume(agent(Calls()), "invoke")
        assert not [one for one in seen.spans if {"input.value", "output.value"} & (one.attributes or {}).keys()]
