"""A real LangGraph agent as the host that the kit drives, with the kit's model and tools."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from typing import Any

from agent_hooks.ctk import Capability, RunOutcome, RunRecord, Scenario, redact_paths
from langchain.agents import create_agent
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import PrivateAttr

from agent_hooks import DeclarationError, HostRegistry, HostSurface, IdentityProvider
from spanhook import ConfigurationError, Hooks, Reject
from spanhook.hooks.agent_hooks import AgentHooks
from spanhook.testing import recorder

WAYS = ("invoke", "ainvoke", "stream", "astream")
ANY = {"type": "object", "properties": {}, "additionalProperties": True}
THREAD: Any = {"configurable": {"thread_id": "1"}}


class BrokenOff(Exception):
    """The model's server has gone."""


class Scripted(BaseChatModel):
    """Answers as a vector has it, one answer after the other."""

    streaming: bool = False
    answers: list[dict[str, Any]]
    _next: int = PrivateAttr(default=0)
    _heard: list[Any] = PrivateAttr(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _answer(self, messages: Any) -> dict[str, Any]:
        self._heard.append(messages)
        self._next += 1
        return self.answers[self._next - 1]

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        answer = self._answer(messages)
        message = AIMessage(
            answer["content"] or "",
            tool_calls=[_tool_call(call) for call in answer["tool_calls"]],
            response_metadata={"finish_reason": answer["finish_reason"]},
        )
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _stream(
        self,
        messages: Any,
        stop: Any = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        answer = self._answer(messages)
        pieces = answer.get("stream") or ([answer["content"]] if answer["content"] else [])
        for piece in pieces:
            yield self._chunk(run_manager, AIMessageChunk(content=piece))
        if answer.get("stream_truncated"):
            raise BrokenOff
        last = AIMessageChunk(
            content="",
            tool_call_chunks=[
                tool_call_chunk(name=call["name"], args=json.dumps(call["args"]), id=call["id"], index=index)
                for index, call in enumerate(answer["tool_calls"])
            ],
            response_metadata={"finish_reason": answer["finish_reason"]},
            chunk_position="last",
        )
        yield self._chunk(run_manager, last)

    def _chunk(self, run_manager: Any, message: AIMessageChunk) -> ChatGenerationChunk:
        chunk = ChatGenerationChunk(message=message)
        if run_manager is not None:
            run_manager.on_llm_new_token(message.content, chunk=chunk)
        return chunk

    async def _astream(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in self._stream(messages, stop, None, **kwargs):
            if run_manager is not None:
                await run_manager.on_llm_new_token(chunk.message.content, chunk=chunk)
            yield chunk


def _tool_call(call: dict[str, Any]) -> dict[str, Any]:
    return {"id": call["id"], "name": call["name"], "args": call["args"]}


class Tokens(BaseCallbackHandler):
    """An observer outside of the host: it is told each token of a model."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def on_llm_new_token(self, token: Any, **_more: Any) -> None:
        self.heard.append(str(token))


class Host:
    """The kit's view of the agent.

    Args:
        vector: The vector that will be run, whose streams the kit leaves out of its scenario.
        way: How the agent is called.
        settings: Further settings of the hook.
    """

    name = "spanhook"

    def __init__(self, vector: dict[str, Any], way: str, **settings: Any) -> None:
        self.incremental = "incremental_output" in vector.get("capabilities", ())
        self.way = way
        self.settings: dict[str, Any] = {
            **settings,
            **({"streams": "incremental", "segment": 1} if self.incremental else {}),
        }
        self.answers = [one["respond"] for one in vector["scenario"].get("model_script", ())]
        self.tool_seam_host_error: str = self.settings.get("tool_failure", "continue")
        self.capabilities = {Capability(one) for one in self.host_surface().capabilities}
        self.released = ""
        self.persisted = ""
        self.spans = 0
        self.records: list[Any] = []

    def host_surface(self) -> HostSurface:
        return AgentHooks.surface(**self.settings)

    def declaration(self) -> dict[str, Any] | None:
        """None: what the host can do is declared in code."""
        return None

    def setup(
        self,
        scenario: Scenario,
        interceptors: list[Any],
        resolver: Any,
        mode: Any,
        composition: Any,
        identity_provider: str | None,
        redact_for_approval: list[str] | None = None,
    ) -> None:
        paths = redact_for_approval or []
        identity: Any = identity_provider
        if identity == "ctk-fault":
            identity = IdentityProvider("ctk-fault", _fault)
        hook = AgentHooks(
            interceptors,
            approval=resolver,
            mode=mode.value,
            composition=composition.to_wire(),
            identity=identity,
            redact=(lambda context: redact_paths(context, paths)) if paths else None,
            tools=sorted(scenario.tools),
            records=self.records.append,
            **self.settings,
        )
        self._hooked(scenario, hook)

    def setup_declared(self, scenario: Scenario, document: dict[str, Any], registry: HostRegistry) -> None:
        try:
            hook = AgentHooks(
                declaration=document,
                registry=registry,
                tools=sorted(scenario.tools),
                records=self.records.append,
                **self.settings,
            )
        except ConfigurationError as error:
            if isinstance(error.__cause__, DeclarationError):
                raise error.__cause__ from None
            raise
        self._hooked(scenario, hook)

    def _hooked(self, scenario: Scenario, hook: AgentHooks) -> None:
        self.scenario = scenario
        self.invocations: list[dict[str, Any]] = []
        self._around = ExitStack()
        self._seen = self._around.enter_context(recorder(Hooks(hook)))

    def _agent(self, saver: Any) -> Any:
        tools = [self._tool(name) for name in self.scenario.tools]
        self.model = Scripted(answers=self.answers, streaming=self.incremental)
        return create_agent(self.model, tools, checkpointer=saver)

    def _tool(self, name: str) -> StructuredTool:
        def run(**arguments: Any) -> Any:
            self.invocations.append({"name": name, "args": arguments})
            value, is_error = self.scenario.tools[name].invoke(arguments)
            if is_error:
                raise ValueError(value)
            return value

        return StructuredTool(name=name, description=name, func=run, args_schema=ANY)

    async def run(self) -> RunRecord:
        saver = InMemorySaver()
        outcome, final = RunOutcome.COMPLETED, None
        try:
            state = await self._called(self._agent(saver))
            final = state["messages"][-1].content
        except Reject:
            outcome = RunOutcome.BLOCKED
        except BrokenOff:
            outcome = RunOutcome.BLOCKED
        self.persisted = repr(list(saver.list(None)))
        return RunRecord(
            outcome=outcome,
            final_output=final,
            tool_invocations=self.invocations,
            identities=[(one.input_identity, one.enforced_identity) for one in self.records],
            records=[one.to_wire() for one in self.records],
        )

    async def _called(self, agent: Any) -> Any:
        asked = {"messages": [{"role": self.scenario.input["role"], "content": self.scenario.input["content"]}]}
        tokens = Tokens()
        config = {**THREAD, "callbacks": [tokens]}
        state: Any = None
        try:
            match self.way:
                case "invoke":
                    state = await asyncio.to_thread(agent.invoke, asked, config)
                case "ainvoke":
                    state = await agent.ainvoke(asked, config)
                case "stream":
                    state = await asyncio.to_thread(self._read, agent.stream(asked, THREAD, stream_mode=MODES))
                case _:
                    async for part in agent.astream(asked, THREAD, stream_mode=MODES):
                        state = self._taken(part, state)
        finally:
            self.released = self.released or "".join(tokens.heard)
        return state

    def _read(self, stream: Any) -> Any:
        state = None
        for part in stream:
            state = self._taken(part, state)
        return state

    def _taken(self, part: Any, state: Any) -> Any:
        mode, told = part
        if mode == "values":
            return told
        message, _ = told
        self.released += str(message.content) if isinstance(message, AIMessageChunk) else ""
        return state

    def teardown(self) -> None:
        if hasattr(self, "_around"):
            self.spans = len(self._seen.spans)
            self._around.close()


MODES = ["messages", "values"]


def _fault(_context: Any) -> str:
    raise RuntimeError("a provider that fails")
