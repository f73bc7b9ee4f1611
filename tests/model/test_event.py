"""Events: what a subscription is told of agents, jobs, schedules, tools and models, by name."""

import asyncio
import json
import threading
from contextlib import suppress
from datetime import datetime
from typing import Any

import pytest
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

import spanhook
from spanhook import Event, Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.langchain import ASK, SCRIPT, WAYS, Calls, Turns, agent, consume, create
from spanhook.cli.conformance.subject import settle
from spanhook.diagnostics import internal
from spanhook.model import MOST_TOOLS
from spanhook.testing import recorder

COMMON = {"type", "alias", "timestamp", "agent_name", "conversation_id", "tenant_id", "run_id", "job_id", "input"}
ENDED = {*COMMON, "status", "output", "usage", "duration_ms"}


class Heard:
    """What a subscription was told."""

    def __init__(self, *events: str, **settings: Any) -> None:
        self.hooks = Hooks(level="trace")
        self.events: list[Event] = []
        for event in events:
            self.hooks.on(event, self.events.append, **settings)

    def payloads(self) -> list[dict[str, Any]]:
        """In the order of events; each subscription has a thread of its own."""
        assert self.hooks.flush()
        self.events.sort(key=_when)
        return [event.payload() for event in self.events]

    def types(self) -> list[str]:
        return [told["type"] for told in self.payloads()]


def _when(event: Event) -> int:
    return event._record.start_ns if event.phase == "pre" else event._record.end_ns


# ------------------------------------------------------------------------------------------------ agents


@pytest.mark.parametrize("way", WAYS)
def test_agent_start_and_agent_end_say_whose_run_it_was_and_what_came_of_it(way: str) -> None:
    heard = Heard("agent:start", "agent:end")
    config = {"configurable": {"thread_id": "order-1001", "tenant_id": "acme"}}
    with recorder(heard.hooks):
        settle(consume(agent(Calls()), way, config=config))
        start, end = heard.payloads()
    assert start.keys() == COMMON
    assert end.keys() == {*ENDED, "tools_used"}
    for told, name in ((start, "start"), (end, "end")):
        assert (told["alias"], told["agent_name"]) == (f"agent:{name}", "helper")
        assert (told["conversation_id"], told["tenant_id"], told["job_id"]) == ("order-1001", "acme", "")
        assert told["input"] == "refund me"
        assert datetime.fromisoformat(told["timestamp"]).tzinfo is not None
    assert (start["type"], end["type"]) == ("agent.invoke.pre", "agent.invoke.post")
    assert start["run_id"] == end["run_id"] != ""
    assert (end["status"], end["output"]) == ("success", "All done.")
    assert end["tools_used"] == ["search", "refund"]
    assert (end["usage"]["input_tokens"], end["usage"]["output_tokens"]) == (69, 33)
    assert end["usage"]["total_tokens"] == 102
    assert end["duration_ms"] > 0
    assert start["timestamp"] <= end["timestamp"]
    assert heard.events[0].payload(content=False).keys() == COMMON - {"input"}
    assert heard.events[1].payload(content=False).keys() == {*ENDED, "tools_used"} - {"input", "output"}


@pytest.mark.parametrize("way", WAYS)
def test_agent_error_says_what_failed_and_what_was_used_until_then(way: str) -> None:
    heard = Heard("agent:start", "agent:end", "agent:error")

    @heard.hooks.before("tool.execute", names={"refund"})
    def refuse(op: Operation) -> None:
        raise Reject("no money today", scope="run")

    with recorder(heard.hooks):
        with pytest.raises(Reject):
            settle(consume(agent(Calls()), way))
        start, error = heard.payloads()
    assert start["alias"] == "agent:start"
    assert error.keys() == {*ENDED, "tools_used", "error", "error_type"}
    assert (error["type"], error["alias"]) == ("agent.invoke.error", "agent:error")
    assert (error["status"], error["error"], error["error_type"]) == ("rejected", "no money today", "Reject")
    assert (error["input"], error["output"]) == ("refund me", None)
    assert error["tools_used"] == ["search"]
    assert error["usage"]["total_tokens"] == 68


def test_a_cancelled_agent_has_an_error_event() -> None:
    heard = Heard("agent:start", "agent:end", "agent:error")
    begun = asyncio.Event()

    @spanhook.agent("slow")
    async def slow() -> None:
        begun.set()
        await asyncio.Event().wait()

    async def cancelled() -> None:
        task = asyncio.create_task(slow())
        await begun.wait()
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    with recorder(heard.hooks):
        asyncio.run(cancelled())
        start, error = heard.payloads()
    assert start["type"] == "agent.invoke.pre"
    assert (error["type"], error["status"]) == ("agent.invoke.error", "cancelled")
    assert (error["error"], error["error_type"]) == ("CancelledError", "CancelledError")


def test_an_interrupted_agent_has_an_end_and_no_error() -> None:
    heard = Heard("agent:end", "agent:error")

    @tool
    def search(query: str) -> str:
        """Ask a person."""
        return interrupt(query)

    model = Turns(turns=[SCRIPT[0], "done"], asked=[])
    graph = create(model, tools=[search], name="helper", checkpointer=InMemorySaver())
    with recorder(heard.hooks):
        graph.invoke(ASK, {"configurable": {"thread_id": "1"}})
        (end,) = heard.payloads()
    assert (end["alias"], end["status"]) == ("agent:end", "interrupted")
    assert "error" not in end


def test_a_stream_that_nobody_reads_to_the_end_has_its_usage() -> None:
    heard = Heard("agent:end")
    with recorder(heard.hooks):
        stream = agent(Calls()).stream(ASK)
        next(stream)
        stream.close()
        (end,) = heard.payloads()
    assert (end["status"], end["usage"]["total_tokens"]) == ("abandoned", 34)


def test_events_do_not_depend_on_the_sampler() -> None:
    heard = Heard("*")
    with recorder(heard.hooks, sampler=ALWAYS_OFF) as seen:
        agent(Calls()).invoke(ASK)
        assert heard.types().count("agent.invoke.post") == 1
    assert not seen.spans


# ------------------------------------------------------------------------------------------------ tools and models


def test_tool_execute_and_model_call_say_what_was_done() -> None:
    heard = Heard("tool:execute", "model:call")
    with recorder(heard.hooks):
        agent(Calls()).invoke(ASK)
        told = heard.payloads()
    assert [one["alias"] for one in told] == ["model:call", "tool:execute"] * 2 + ["model:call"]
    model, search, *_, last = told
    assert search.keys() == {*ENDED, "tool_name", "tool_call_id"}
    assert (search["agent_name"], search["tool_name"]) == ("helper", "search")
    assert (search["input"], search["output"]) == ({"query": "x"}, "found x")
    assert model.keys() == {*ENDED, "model", "prompt_tokens", "completion_tokens"}
    assert (model["agent_name"], model["model"]) == ("helper", "gpt-4o-mini")
    assert (model["prompt_tokens"], model["completion_tokens"]) == (23, 11)
    assert model["input"] == [{"role": "user", "parts": [{"type": "text", "content": "refund me"}]}]
    assert last["output"][0]["parts"] == [{"type": "text", "content": "All done."}]


def test_a_tool_that_fails_and_one_that_is_refused_are_told_of_too() -> None:
    heard = Heard("tool:execute")

    @spanhook.tool
    def divide(by: int) -> float:
        return 1 / by

    @heard.hooks.before("tool.execute", when=lambda op: op.request.arguments["by"] < 0)
    def positive(op: Operation) -> None:
        raise Reject("negative")

    with recorder(heard.hooks):
        assert divide(2) == 0.5
        for by, error in ((0, ZeroDivisionError), (-1, Reject)):
            with pytest.raises(error):
                divide(by)
        told = [(one["input"], one["output"], one["status"], one.get("error")) for one in heard.payloads()]
    assert told == [
        ({"by": 2}, 0.5, "success", None),
        ({"by": 0}, None, "error", "division by zero"),
        ({"by": -1}, None, "rejected", "negative"),
    ]


def test_tools_used_are_so_many_at_most() -> None:
    heard = Heard("agent:end")

    @spanhook.agent("busy")
    def busy() -> None:
        for index in range(MOST_TOOLS + 5):
            with spanhook.operation("tool.execute", f"tool {index}"):
                pass

    with recorder(heard.hooks):
        busy()
        (end,) = heard.payloads()
    assert end["tools_used"] == [f"tool {index}" for index in range(MOST_TOOLS)]
    assert end["usage"]["total_tokens"] == 0


# ------------------------------------------------------------------------------------------------ jobs and schedules


def job(**arguments: Any) -> Any:
    given = {"arguments": arguments, "inputs": "Check my email"}
    return spanhook.operation("job", "email-checker", request=given)


@spanhook.agent("email-checker")
def check(question: str) -> str:
    return f"{question}: three are new"


def test_job_start_and_job_end_say_which_job() -> None:
    heard = Heard("*")
    with recorder(heard.hooks):
        with spanhook.context(tenant_id="acme", session_id="s-1"), job(job_id="job_1") as op:
            op.result_of(check("Check my email"))
        told = heard.payloads()
    assert [one["alias"] for one in told] == ["job:start", "agent:start", "agent:end", "job:end"]
    assert {one["job_id"] for one in told} == {"job_1"}
    assert {one["agent_name"] for one in told} == {"email-checker"}
    assert {(one["tenant_id"], one["conversation_id"]) for one in told} == {("acme", "s-1")}
    start, *_, end = told
    assert start.keys() == COMMON
    assert (start["input"], end["output"]) == ("Check my email", "Check my email: three are new")
    assert (end["type"], end["status"]) == ("job.post", "success")
    assert end.keys() == {*ENDED, "tools_used"}


def test_a_job_that_fails_has_an_end() -> None:
    heard = Heard("job:end", "job:cancelled")
    with recorder(heard.hooks):
        with pytest.raises(KeyError), job(job_id=7):
            raise KeyError("inbox")
        (end,) = heard.payloads()
    assert (end["type"], end["alias"], end["status"]) == ("job.error", "job:end", "error")
    assert (end["job_id"], end["error"], end["error_type"]) == ("7", "'inbox'", "KeyError")


def test_a_job_that_is_cancelled_has_no_end_but_job_cancelled() -> None:
    heard = Heard("job:end", "job:cancelled")

    async def cancelled() -> None:
        begun = asyncio.Event()

        async def work() -> None:
            async with job(job_id="job_1"):
                begun.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(work())
        await begun.wait()
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    with recorder(heard.hooks):
        asyncio.run(cancelled())
        (told,) = heard.payloads()
    assert (told["type"], told["alias"], told["status"]) == ("job.error", "job:cancelled", "cancelled")
    assert (told["job_id"], told["agent_name"]) == ("job_1", "email-checker")


def test_a_job_without_an_id_goes_by_its_run() -> None:
    heard = Heard("job:start")
    with recorder(heard.hooks):
        with job(agent_name="reporter"):
            pass
        (start,) = heard.payloads()
    assert start["job_id"] == start["run_id"] != ""
    assert start["agent_name"] == "reporter"


@pytest.mark.parametrize("fails", [False, True])
def test_cron_executed_says_which_schedule_and_how_it_went(fails: bool) -> None:
    heard = Heard("cron:executed")

    @spanhook.operation("cron.execute", "email-checker")
    def nightly(cron_id: str, execution_id: str) -> None:
        if fails:
            raise OSError("no inbox")

    with recorder(heard.hooks):
        with suppress(OSError):
            nightly("cron_1", "exec_9")
        (told,) = heard.payloads()
    assert (told["cron_id"], told["execution_id"]) == ("cron_1", "exec_9")
    assert (told["agent_name"], told["status"]) == ("email-checker", "error" if fails else "success")
    assert told.get("error") == ("no inbox" if fails else None)
    assert told["duration_ms"] > 0


# ------------------------------------------------------------------------------------------------ what is read


def test_events_have_the_same_as_attributes() -> None:
    heard = Heard("agent:start", "agent:end")
    with recorder(heard.hooks):
        with spanhook.context(tenant_id="acme", session_id="s-1"), job(job_id="job_1"):
            agent(Calls()).invoke(ASK)
        told = heard.payloads()
    for event, payload in zip(heard.events, told, strict=True):
        for name in ("type", "alias", "agent_name", "conversation_id", "tenant_id", "run_id", "job_id", "input"):
            assert getattr(event, name) == payload[name], name
    start, end = heard.events
    assert (end.output, end.tools_used, end.usage.total_tokens) == ("All done.", ["search", "refund"], 102)
    assert end.duration_ms == told[1]["duration_ms"]
    assert start.timestamp <= end.timestamp


def test_the_beginning_knows_nothing_of_the_end() -> None:
    """Read late, it is still what had happened by then."""
    heard = Heard("agent:start")
    with recorder(heard.hooks):
        agent(Calls()).invoke(ASK)
        heard.payloads()
        (start,) = heard.events
    assert (start.status, start.output, start.tools_used, start.duration_ms) == ("", None, [], 0.0)
    assert (start.usage.total_tokens, dict(start.usage_by_model)) == (0, {})


def test_handlers_are_handed_copies() -> None:
    given = {"messages": ["hi"], "tags": ["a"]}
    told: list[dict[str, Any]] = []
    hooks = Hooks()

    def spoil(event: Event) -> None:
        payload = event.payload()
        told.append(json.loads(json.dumps(payload)))
        payload["input"]["tags"].append("spoilt")
        payload["output"]["tags"].append("spoilt")
        payload["usage"].clear()

    for name in ("first", "second"):
        hooks.on("agent:end", spoil, name=name)

    @spanhook.agent("echo")
    def echo(state: dict[str, Any]) -> dict[str, Any]:
        return state

    with recorder(hooks):
        result = echo(given)
        assert hooks.flush()
    assert result is given
    assert given == {"messages": ["hi"], "tags": ["a"]}
    assert len(told) == 2
    assert told[0] == told[1]


def test_what_cannot_be_read_is_none_and_the_rest_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    heard = Heard("agent:end")

    class Unreadable(dict[str, Any]):
        def get(self, *_: Any) -> Any:
            raise RuntimeError("not today")

    @spanhook.agent("echo")
    def echo(messages: Any) -> str:
        return "done"

    with recorder(heard.hooks):
        monkeypatch.setattr(internal, "fatal", False)
        echo([Unreadable(role="user", content="hi")])
        (end,) = heard.payloads()
    assert (end["input"], end["output"]) == (None, "done")


def test_payloads_are_whole_whatever_leaves_the_process() -> None:
    heard = Heard("agent:end")
    words = "x" * 100_000
    with recorder(heard.hooks, settings=spanhook.Settings(content="NO_CONTENT")) as seen:
        check(words)
        (end,) = heard.payloads()
    assert end["input"] == words
    assert words not in str([dict(span.attributes or {}) for span in seen.spans])


def test_threads_are_told_apart() -> None:
    heard = Heard("agent:end", "tool:execute")

    def run(index: int) -> None:
        with spanhook.context(tenant_id=f"t{index}"):
            agent(Calls(), [[("search", {"query": str(index)})], "done"]).invoke(ASK)

    with recorder(heard.hooks):
        threads = [threading.Thread(target=run, args=(index,)) for index in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        told = heard.payloads()
    assert sorted(one["tenant_id"] for one in told) == sorted(f"t{index}" for index in range(8) for _ in "12")
    for one in told:
        if one["alias"] == "tool:execute":
            assert one["input"] == {"query": one["tenant_id"][1:]}
        else:
            assert one["tools_used"] == ["search"]
