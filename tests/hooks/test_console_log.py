"""Events as lines on a console: for people, in colour on a terminal, and as JSON."""

import asyncio
import io
import json
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from inline_snapshot import snapshot

import spanhook
from spanhook import ConfigurationError, Hooks, Operation, Reject, operation
from spanhook.gating import find, make
from spanhook.hooks.console_log import ConsoleLog
from spanhook.hooks.pii_redaction import PIIRedaction
from spanhook.testing import recorder

_TOOK = re.compile(r"\b\d+ms\b")
"""Threads read the clock of tests too, so durations in it vary."""
TRACE = ["agent.invoke", "tool:execute", "model:call", "job", "cron:executed", "delegate:end"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Latin(io.StringIO):
    encoding = "latin-1"  # pyright: ignore[reportAssignmentType]


@pytest.fixture(autouse=True)
def no_colour_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")


@spanhook.tool
def search(query: str) -> str:
    if query == "fail":
        raise OSError("the index is down")
    return f"results for {query}"


@spanhook.agent("email-checker")
def check(query: str = "news") -> str:
    with operation("llm.call", "gpt-4o-mini", provider="openai", request={"messages": ["hi"]}) as op:
        op.record_usage(input_tokens=1000, output_tokens=247)
    return search(query)


def printed(run: Callable[[], Any], *more: Any, stream: Any = None, **settings: Any) -> str:
    """What a logger prints while ``run`` runs."""
    stream = io.StringIO() if stream is None else stream
    hooks = Hooks(make(find("console_log"), settings), *more)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, settings.get("to", "stderr"), stream)
        with recorder(hooks):
            with suppress(Exception):
                run()
            assert hooks.flush(60)
    return _TOOK.sub("Nms", stream.getvalue())


def test_a_line_for_each_event() -> None:
    assert printed(check, events=["agent:end", "tool:execute", "model:call"]) == snapshot("""\
[model] gpt-4o-mini called by email-checker (Nms, 1,247 tokens)
[tool]  search called by email-checker (Nms)
[agent] email-checker completed in Nms (1,247 tokens) \u2014 1 tool used
""")


def test_it_prints_agents_jobs_and_schedules_unless_told_otherwise() -> None:
    def nightly() -> None:
        request = {"arguments": {"cron_id": "nightly", "job_id": "job_1"}}
        with (
            operation("cron.execute", "email-checker", request=request),
            operation("job", "email-checker", request=request),
        ):
            check()

    assert printed(nightly) == snapshot("""\
[cron]  email-checker nightly started
[job]   email-checker job_1 started
[agent] email-checker started
[agent] email-checker completed in Nms (1,247 tokens) \u2014 1 tool used
[job]   email-checker job_1 completed in Nms (1,247 tokens) \u2014 1 tool used
[cron]  email-checker nightly completed in Nms (1,247 tokens) \u2014 1 tool used
""")


def test_failures_and_refusals_say_why() -> None:
    def refuse(op: Operation) -> None:
        raise Reject("Only on weekdays")

    hooks = Hooks()
    hooks.before("tool.execute", names={"search"})(refuse)
    (gate,) = hooks
    assert printed(lambda: check("fail"), events=TRACE) == snapshot("""\
[agent] email-checker started
[model] gpt-4o-mini called by email-checker (Nms, 1,247 tokens)
[tool]  search called by email-checker failed: the index is down (Nms)
[agent] email-checker failed: the index is down (Nms, 1,247 tokens)
""")
    assert printed(check, gate, events=["*.error"], level="trace") == snapshot("""\
[tool]  search called by email-checker was refused: Only on weekdays (Nms)
[agent] email-checker was refused: Only on weekdays (Nms, 1,247 tokens)
""")


def test_cancelled_and_abandoned_operations() -> None:
    @spanhook.agent("waiter")
    async def wait() -> None:
        await asyncio.Event().wait()

    @spanhook.agent("teller")
    def tell() -> Any:
        yield "a"
        yield "b"

    async def cancelled() -> None:
        task = asyncio.create_task(wait())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    def run() -> None:
        asyncio.run(cancelled())
        stream = tell()
        next(stream)
        stream.close()

    assert printed(run, events=["agent:end", "agent:error"]) == snapshot("""\
[agent] waiter was cancelled (Nms)
[agent] teller was left before its end (Nms)
""")


def test_sub_agents_and_other_kinds() -> None:
    @spanhook.agent("boss")
    def boss() -> str:
        with operation("memory.store", "notes"), operation("request", "POST /"):
            pass
        return check()

    assert printed(boss, events=["delegate:end", "memory.store", "request"]) == snapshot("""\
[memory] notes started
[request] POST / started
[request] POST / (Nms)
[memory] notes (Nms)
[agent] email-checker called by boss (Nms, 1,247 tokens)
""")


@pytest.mark.parametrize("content", ["none", "errors", "full"])
def test_content_is_printed_only_as_far_as_it_is_asked_for(content: str) -> None:
    text = printed(lambda: check("fail"), events=["tool:execute"], content=content)
    assert ("the index is down" in text) == (content != "none")
    assert ("'query': 'fail'" in text) == (content == "full")
    data = printed(lambda: check("fail"), events=["tool:execute"], content=content, format="json")
    assert ("the index is down" in data) == (content != "none")
    assert ("query" in data) == (content == "full")


def test_a_terminal_has_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    text = printed(lambda: check("fail"), stream=Terminal(), events=["agent.invoke"])
    assert text == snapshot("""\
\x1b[36m[agent]\x1b[0m email-checker started
\x1b[31m[agent]\x1b[0m email-checker failed: the index is down (Nms, 1,247 tokens)
""")
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in printed(check, stream=Terminal(), events=["agent.invoke"])
    monkeypatch.delenv("NO_COLOR")
    assert "\x1b" not in printed(check, stream=Terminal(), events=["agent.invoke"], format="json")


def test_what_models_and_users_write_cannot_control_a_terminal() -> None:
    bad = "x\x1b[2J\r\n[agent] forged\x9b\u202e\ud800"

    def run() -> None:
        with operation("agent.invoke", bad), operation("tool.execute", bad, request={"arguments": {bad: bad}}):
            raise RuntimeError(bad)

    for settings in ({}, {"format": "json"}):
        text = printed(run, events=["*"], level="trace", content="full", **settings)
        assert not set("\x1b\r\x9b\u202e\ud800") & set(text)
        assert not any(line.startswith("[agent] forged") for line in text.splitlines())
        if settings:
            assert len([json.loads(line) for line in text.splitlines()]) == 4


def test_a_stream_of_another_encoding_gets_what_it_can_show() -> None:
    text = printed(lambda: check("\u65b0"), stream=Latin(), events=["agent:end"], content="full")
    assert text == snapshot("""\
[agent] email-checker completed in Nms (1,247 tokens) - 1 tool used
        input: \\u65b0
        output: results for \\u65b0
""")


def test_json_goes_to_standard_output_if_asked_for() -> None:
    (end,) = map(json.loads, printed(check, events=["agent:end"], format="json", to="stdout").splitlines())
    assert end.pop("duration_ms") > 0
    assert end.pop("timestamp").startswith("1970-01-01T00:00:00.")
    assert end == snapshot(
        {
            "type": "agent.invoke.post",
            "alias": "agent:end",
            "agent_name": "email-checker",
            "conversation_id": "",
            "tenant_id": "",
            "run_id": "00000000000000000000000000000001",
            "job_id": "",
            "status": "success",
            "usage": {
                "input_tokens": 1000,
                "output_tokens": 247,
                "total_tokens": 1247,
                "input_token_details": {"cache_read": 0, "cache_creation": 0},
                "output_token_details": {"reasoning": 0},
                "cost_usd": 0.0002982,
            },
            "tools_used": ["search"],
            "trace_id": "00000000000000000000000000000001",
            "span_id": "0000000000000001",
        }
    )


@pytest.mark.parametrize("format_", ["pretty", "json"])
def test_what_other_hooks_conceal_is_not_printed(format_: str) -> None:
    def run() -> None:
        request = {"arguments": {"to": "ann@example.org"}}
        with operation("tool.execute", "send", request=request):
            raise RuntimeError("no mailbox bob@example.org")

    redaction = PIIRedaction()
    text = printed(run, redaction, events=["tool.execute"], content="full", format=format_)
    assert "example.org" not in text
    assert "no mailbox" in text


def test_a_process_without_a_console_runs_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    with recorder(Hooks(ConsoleLog())):
        assert check() == "results for news"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"events": []}, "events"),
        ({"events": ["agent:ends"]}, "agent:end"),
        ({"level": "debug"}, "level"),
        ({"format": "xml"}, "format"),
        ({"content": "all"}, "content"),
        ({"to": "file"}, "to"),
        ({"colour": True}, "colour"),
    ],
)
def test_a_wrong_setting_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        make(find("console_log"), settings)
