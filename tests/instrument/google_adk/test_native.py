"""The library's own callbacks, plugins and spans beside spanhook's: each once."""

import asyncio
from importlib import import_module
from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.google_adk_ways import (
    RUN_WAYS,
    agent,
    own,
    runner,
    tool,
)
from spanhook.cli.conformance.servers.openai_server import Tokens
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder
from tests.instrument.google_adk.made import events_of

BasePlugin: Any = import_module("google.adk.plugins.base_plugin").BasePlugin
tracing: Any = import_module("google.adk.telemetry.tracing")
NAMES = ("agent", "model", "tool")
CALLBACKS = [f"{when}_{name}" for name in NAMES for when in ("before", "after")]
ASKED = ("look_up", {"query": "tea"})
ONE_RUN = [
    *("before_agent", "before_model", "after_model", "before_tool", "after_tool"),
    *("before_model", "after_model", "after_agent"),
]


def noting(heard: list[str], name: str) -> Any:
    def note(*_args: Any, **_given: Any) -> None:
        heard.append(name)

    return note


class Plugin(BasePlugin):
    """Notes what it is told."""

    def __init__(self, heard: list[str]) -> None:
        super().__init__(name="noting")

        for one in CALLBACKS:
            setattr(self, f"{one}_callback", self._noting(heard, one))

    @staticmethod
    def _noting(heard: list[str], name: str) -> Any:
        async def note(**_given: Any) -> None:
            heard.append(name)

        return note


def made(heard: list[str], body: Body, *, plugin: bool) -> Any:
    given: dict[str, Any] = {} if plugin else {f"{one}_callback": noting(heard, one) for one in CALLBACKS}
    return runner(agent(own(body, ASKED, "done"), tool(Body()), **given), plugins=[Plugin(heard)] if plugin else None)


@pytest.mark.parametrize("plugin", [False, True], ids=["callbacks", "plugin"])
@pytest.mark.parametrize("way", RUN_WAYS)
def test_callbacks_and_plugins_run_once(plugin: bool, way: str) -> None:
    heard, without = list[str](), list[str]()
    asyncio.run(RUN_WAYS[way](made(without, Body(), plugin=plugin)))
    with recorder(Hooks()):
        asyncio.run(RUN_WAYS[way](made(heard, Body(), plugin=plugin)))
    assert heard == without
    if way == "run_async":
        assert heard == ONE_RUN


@pytest.mark.parametrize("plugin", [False, True], ids=["callbacks", "plugin"])
def test_they_are_told_of_a_refused_tool(plugin: bool) -> None:
    heard, hooks = list[str](), Hooks()

    @hooks.before("tool.execute")
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    with recorder(hooks):
        asyncio.run(RUN_WAYS["run_async"](made(heard, Body(), plugin=plugin)))
    assert heard == ONE_RUN


def test_what_a_callback_changes_in_place_is_what_is_gated_and_sent() -> None:
    seen, body, hooks = list[Any](), Body(), Hooks()

    def change(callback_context: Any, llm_request: Any) -> None:
        llm_request.contents[-1].parts[0].text = "changed"

    @hooks.before("llm.call")
    def look(op: Operation) -> None:
        seen.append(op.request.messages[-1]["parts"][0]["content"])

    with recorder(hooks):
        asyncio.run(RUN_WAYS["run_async"](runner(agent(own(body), before_model_callback=change))))
    assert (seen, body.seen[0][-1].parts[0].text) == (["changed"], "changed")


def test_its_spans_are_no_operations_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    counted, totals, hooks = list[tuple[str, str | None]](), list[int](), Hooks()
    hooks.before("*")(lambda op: counted.append((op.kind, op.name)))
    hooks.after("agent.invoke")(lambda op: totals.append(op.usage.input_tokens))
    with recorder(hooks) as seen:
        tracer = seen.tracer_provider.get_tracer("gcp.vertex.agent")
        monkeypatch.setattr(tracing, "tracer", tracer)
        for name in ("google.adk.telemetry.node_tracing", "google.adk.telemetry._instrumentation"):
            module = _module(name)
            if hasattr(module, "tracer"):
                monkeypatch.setattr(module, "tracer", tracer)
        asyncio.run(events_of(made([], Body(), plugin=False)))
    theirs = {one.name for one in seen.spans if (one.instrumentation_scope or one).name == "gcp.vertex.agent"}
    assert {"execute_tool look_up", "invoke_agent helper"} <= theirs
    assert counted == [
        ("agent.invoke", "helper"),
        ("llm.call", "own"),
        ("tool.execute", "look_up"),
        ("llm.call", "own"),
    ]
    assert totals == [2 * Tokens().input]


def _module(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        return None
