"""LiteLLM's loops, harnesses and agents asked over A2A, over a model of the application's own."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

from spanhook.cli.conformance.libraries.litellm_ways import ASK, litellm, renew
from spanhook.cli.conformance.servers.openai_server import Reply
from spanhook.cli.conformance.subject import Body, Use

FOUND = "found leaves everywhere"
"""What the tool of these agents returns."""
TOOLS: Any = [{"type": "function", "function": {"name": "look_up", "parameters": {"type": "object"}}}]
_CALL: Any = {"id": "call_1", "type": "function", "function": {"name": "look_up", "arguments": '{"query": "tea"}'}}
HAS_AGENTS = hasattr(litellm, "run_tool_loop")
"""Whether this version has them."""


class Own(litellm.CustomLLM):  # pyright: ignore[reportUntypedBaseClass]
    """A model that uses the tool, if it is given one, and repeats what it is told."""

    def __init__(self, body: Body | None) -> None:
        super().__init__()  # pyright: ignore[reportUnknownMemberType]
        self.body = body

    def completion(self, *_args: Any, **given: Any) -> Any:
        last: Any = given["messages"][-1]
        if self.body is not None:
            self.body.run(last["content"])
        uses = bool(given["optional_params"].get("tools")) and last["role"] != "tool"
        text = None if uses else last["content"] if last["role"] == "tool" else Reply.text
        message = {"role": "assistant", "content": text, "tool_calls": [_CALL] if uses else None}
        return litellm.ModelResponse(choices=[{"message": message, "finish_reason": "tool_calls" if uses else "stop"}])

    async def acompletion(self, *args: Any, **given: Any) -> Any:
        return self.completion(*args, **given)


@dataclass
class Agent:
    """An agent's model, and the body of its tool, if it has one."""

    model: str
    tool: Body | None = None


@cache
def _folder() -> str:
    return tempfile.mkdtemp(prefix="spanhook-litellm-")


def _model(body: Body | None) -> str:
    """A model whose calls count as runs of ``body``."""
    provider = f"own{len(litellm.custom_provider_map)}"
    litellm.custom_provider_map = [
        *litellm.custom_provider_map,
        {"provider": provider, "custom_handler": Own(body)},
    ]
    litellm.utils.custom_llm_setup()
    return f"{provider}/own"


def asking(body: Body) -> Agent:
    return Agent(_model(body))


def using(body: Body) -> Agent:
    return Agent(_model(None), body)


# ------------------------------------------------------------------------------------------------- ways


def _loop_request(agent: Agent) -> dict[str, Any]:
    messages = [{"role": "user", "content": ASK}]
    return {"model": agent.model, "messages": messages, "tools": TOOLS if agent.tool is not None else []}


def _executing(agent: Agent) -> Callable[[Any], Any]:
    def execute(call: Any) -> Any:
        assert agent.tool is not None
        agent.tool.run(call.function.arguments)
        return {"role": "tool", "tool_call_id": call.id, "content": FOUND}

    return execute


def _looped(agent: Agent) -> Any:
    return litellm.run_tool_loop(**_loop_request(agent), execute_tool=_executing(agent))


async def _alooped(agent: Agent) -> Any:
    execute = _executing(agent)

    async def later(call: Any) -> Any:
        return execute(call)

    return await litellm.arun_tool_loop(**_loop_request(agent), execute_tool=later)


def _turn(agent: Agent) -> dict[str, Any]:
    def look_up(query: str) -> str:
        """Look something up."""
        assert agent.tool is not None
        agent.tool.run(query)
        return FOUND

    sandbox = import_module("litellm.harness.sandbox").local(_folder())
    tools = [look_up] if agent.tool is not None else []
    return {"sandbox": sandbox, "model": agent.model, "tools": tools}


def _text(result: Any) -> Any:
    """A turn's text; what has gone wrong in it is in there, too."""
    if result.stop_reason != "done":
        raise RuntimeError(result.text)
    return result.text


def _ran(agent: Agent) -> Any:
    return _text(litellm.agent(litellm.Harness.TOOL_LOOP, ASK, **_turn(agent)))


def _streamed(agent: Agent) -> Any:
    events = litellm.agent(litellm.Harness.TOOL_LOOP, ASK, stream=True, **_turn(agent))
    for _ in events:
        pass
    return _text(events.result)


async def _aran(agent: Agent) -> Any:
    return _text(await litellm.aagent(litellm.Harness.TOOL_LOOP, ASK, **_turn(agent)))


async def _astreamed(agent: Agent) -> Any:
    events = litellm.aagent(litellm.Harness.TOOL_LOOP, ASK, stream=True, **_turn(agent))
    async for _ in events:
        pass
    return _text(events.result)


def _request(agent: Agent) -> dict[str, Any]:
    """A model that is asked as if it were an agent."""
    renew()
    provider, _, model = agent.model.partition("/")
    message = {"role": "user", "messageId": "m", "parts": [{"kind": "text", "text": ASK}]}
    request = SimpleNamespace(id="1", params={"message": message})
    return {"request": request, "litellm_params": {"custom_llm_provider": provider, "model": model}}


def _said(told: Any) -> Any:
    result: Any = getattr(told, "result", None)
    parts: Any = result.get("parts") or [part for one in result["artifacts"] for part in one["parts"]]
    return "".join(part["text"] for part in parts)


async def _sent(agent: Agent) -> Any:
    return _said(await import_module("litellm.a2a_protocol").asend_message(**_request(agent)))


LOOP_WAYS: dict[str, Use] = {"run_tool_loop": _looped, "arun_tool_loop": _alooped} if HAS_AGENTS else {}
TURN_WAYS: dict[str, Use] = (
    {"agent": _ran, "streamed agent": _streamed, "aagent": _aran, "streamed aagent": _astreamed} if HAS_AGENTS else {}
)
A2A_WAYS: dict[str, Use] = {"asend_message": _sent} if HAS_AGENTS and find_spec("a2a") else {}
