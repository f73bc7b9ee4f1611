"""The scenes: a few customer requests, each with a sentence on what to look at."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from langgraph.types import Command

import spanhook
from spanhook.cli.demo.agent import CLOSE, ORDER, POLICY, REFUND


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One run of the agent.

    Attributes:
        name: The run's name in the JSON document.
        title, look_at: Its title, and a sentence on what to look at.
        tenant_id, user_id, thread: Who makes the request, and in which conversation.
        request: What the customer says, or a person's answer to the agent's question.
        play: Runs the agent; yields its answer in pieces.
    """

    name: str
    title: str
    look_at: str
    tenant_id: str
    user_id: str
    thread: str
    request: str
    play: Callable[[Any, "Scene"], Iterator[str]]

    @property
    def config(self) -> Any:
        return {"configurable": {"thread_id": f"{self.user_id}-{self.thread}"}}

    @property
    def inputs(self) -> Any:
        return {"messages": [{"role": "user", "content": self.request}]}

    def run(self, agent: Any) -> tuple[str, str]:
        """Who spoke last, and what they said."""
        with spanhook.context(tenant_id=self.tenant_id, user_id=self.user_id):
            try:
                return "agent", "".join(self.play(agent, self)).strip()
            except spanhook.Reject as reject:
                return f"Reject {reject.status_code}", reject.reason


def _invoke(agent: Any, scene: Scene) -> Iterator[str]:
    yield _last_word(agent.invoke(scene.inputs, scene.config))


def _resume(agent: Any, scene: Scene) -> Iterator[str]:
    yield _last_word(agent.invoke(Command(resume=True), scene.config))


def _stream(agent: Any, scene: Scene) -> Iterator[str]:
    for chunk, told in agent.stream(scene.inputs, scene.config, stream_mode="messages"):
        if told.get("langgraph_node") == "model" and isinstance(chunk.content, str):
            yield chunk.content


def _last_word(state: Any) -> str:
    waiting = state.get("__interrupt__")
    if waiting:
        return f"(waits for a person) {waiting[0].value['question']}"
    return str(state["messages"][-1].content)


SCENES = (
    Scene(
        name="allowed",
        title="An allowed run",
        look_at="Every model call and tool call has its duration, tokens and cost; they add up on the agent's line.",
        tenant_id="acme",
        user_id="ann",
        thread="order",
        request=ORDER,
        play=_invoke,
    ),
    Scene(
        name="tool_rejected",
        title="A tool call rejected, and explained to the model",
        look_at="The refund is never made: the model is told why, and says so. A hook's cache answered the search.",
        tenant_id="acme",
        user_id="bob",
        thread="order",
        request=REFUND,
        play=_invoke,
    ),
    Scene(
        name="over_budget",
        title="A run rejected for its budget",
        look_at="It was rejected before its first model call, so there is none below it and it cost nothing.",
        tenant_id="globex",
        user_id="eve",
        thread="order",
        request=ORDER,
        play=_invoke,
    ),
    Scene(
        name="interrupted",
        title="An interrupted run",
        look_at="The tool asks a person; that is not an error, and the run ends as interrupted.",
        tenant_id="acme",
        user_id="ann",
        thread="account",
        request=CLOSE,
        play=_invoke,
    ),
    Scene(
        name="resumed",
        title="Its resume",
        look_at="The person's answer goes to the same thread: a separate run in the same session.",
        tenant_id="acme",
        user_id="ann",
        thread="account",
        request="(a person says: yes, close it)",
        play=_resume,
    ),
    Scene(
        name="streamed",
        title="A streamed run",
        look_at="The run ends with its stream, and its tool calls a second, smaller model.",
        tenant_id="acme",
        user_id="carol",
        thread="policy",
        request=POLICY,
        play=_stream,
    ),
)
