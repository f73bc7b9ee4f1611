"""What is played: a few requests of customers, each with a sentence on what to look at."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from langgraph.types import Command

import spanhook
from spanhook.demo.agent import CLOSE, ORDER, POLICY, REFUND


@dataclass(frozen=True, slots=True)
class Scene:
    """One run of the agent.

    Attributes:
        name: What the run is called in the JSON document.
        look_at: A sentence on what to look at.
        tenant_id, user_id: Whose request it is.
        request: What the customer says, or what a person answers to the agent's question.
        play: Runs the agent; yields what it says, piece by piece.
    """

    name: str
    look_at: str
    tenant_id: str
    user_id: str
    request: str
    play: Callable[[Any, "Scene"], Iterator[str]]

    @property
    def config(self) -> Any:
        return {"configurable": {"thread_id": f"{self.tenant_id}-{self.user_id}"}}

    @property
    def inputs(self) -> Any:
        return {"messages": [{"role": "user", "content": self.request}]}

    def run(self, agent: Any) -> tuple[str, str]:
        """Who had the last word, and what it was."""
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
        "allowed",
        "An allowed run: every model call and tool call has its duration, tokens and cost, and they add up at the top.",
        "acme",
        "ann",
        ORDER,
        _invoke,
    ),
    Scene(
        "tool_rejected",
        "A tool call rejected: the refund is never made, the model is told why and says so; "
        "and the search is answered from the cache of a hook.",
        "acme",
        "bob",
        REFUND,
        _invoke,
    ),
    Scene(
        "over_budget",
        "A run rejected for its budget: there is no model call below it, and it cost nothing.",
        "globex",
        "eve",
        ORDER,
        _invoke,
    ),
    Scene(
        "interrupted",
        "An interrupted run: a tool asks a person, which is no error; the run ends as interrupted.",
        "acme",
        "ann",
        CLOSE,
        _invoke,
    ),
    Scene(
        "resumed",
        "The same thread, resumed with the person's answer: a run of its own, with the same session.",
        "acme",
        "ann",
        "(the person agrees)",
        _resume,
    ),
    Scene(
        "streamed",
        "A streamed run: it ends when its stream does, and a tool asks a second, smaller model.",
        "acme",
        "carol",
        POLICY,
        _stream,
    ),
)
