"""Typed contexts, one per kind of operation."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

from spanhook.definitions.context import HookContext
from spanhook.model import NOBODY, Identity, Message, Operation, copied, exact_text


@dataclass(slots=True, kw_only=True)
class AgentHookContext(HookContext):
    """Context of ``agent.invoke``.

    Attributes:
        agent_name: The agent.
        agent_definition: The object that is invoked, such as the compiled graph; ``None`` for your own code.
        inputs: Its input.
        system_prompt: The system instructions in its input.
        model: Set it to choose the model for every model call of this agent.
    """

    REQUEST: ClassVar[Mapping[str, str]] = {"inputs": "inputs", "system_prompt": "system", "model": "model"}

    agent_name: str = ""
    agent_definition: Any = None
    inputs: Any = field(default_factory=dict[str, Any])
    system_prompt: str = ""
    model: str = ""

    def _read(self, op: Operation) -> None:
        self.agent_name = op.name
        self.agent_definition = _subject(op)

    def _read_request(self, op: Operation) -> None:
        self.inputs, self.system_prompt = op.request.inputs, op.request.system
        self.model = op.model or exact_text(op.state.get(AGENT_MODEL, ""))

    def _rewrite(self, op: Operation, asked: dict[str, Any]) -> None:
        chosen = asked.pop("model", None) if "model" not in op._record.adapter.editing.takes else None
        if asked:
            op.replace(**asked)
        if chosen is not None:
            op.state[AGENT_MODEL] = chosen


AGENT_MODEL = "spanhook.agent.model"
"""The key in the operation's state for the model that a hook has set for an agent's model calls."""


@dataclass(frozen=True, slots=True)
class ToolContext:
    """Where a tool is called.

    Attributes:
        tool_call_id: The id that the model gave the call; empty if there is none.
        agent_name: The nearest enclosing agent.
        identity: The caller.
    """

    tool_call_id: str = ""
    agent_name: str = ""
    identity: Identity = NOBODY


@dataclass(slots=True, kw_only=True)
class ToolHookContext(HookContext):
    """Context of ``tool.execute``.

    Attributes:
        tool_name: The tool.
        arguments: Its arguments by name.
        tool_context: Where it is called.
    """

    REQUEST: ClassVar[Mapping[str, str]] = {"arguments": "arguments"}

    tool_name: str = ""
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])
    tool_context: ToolContext | None = None

    def _read(self, op: Operation) -> None:
        self.tool_name = op.name
        self.tool_context = ToolContext(op.tool_call_id, op.agent, op.identity)

    def _read_request(self, op: Operation) -> None:
        self.arguments = op.request.arguments


@dataclass(slots=True, kw_only=True)
class WorkflowHookContext(HookContext):
    """Context of ``workflow.step``.

    Attributes:
        workflow_name: The graph or agent that the step is part of.
        step_id: The step.
        step_action: The name of the node's function; empty if unknown.
        inputs: Its input.
        state: A snapshot of the workflow's state when the step began. Changing it has no effect.
        status: How it ended: ``success``, ``failed`` (also if it was refused), or another status of operations; empty
            before.
    """

    REQUEST: ClassVar[Mapping[str, str]] = {"inputs": "inputs"}

    workflow_name: str = ""
    step_id: str = ""
    step_action: str = ""
    inputs: Any = field(default_factory=dict[str, Any])
    state: dict[str, Any] = field(default_factory=dict[str, Any])
    status: str = ""

    def _read(self, op: Operation) -> None:
        self.status = "failed" if op.status in ("error", "rejected") else op.status
        around = op.parent
        self.workflow_name = op.agent or (around.name if around is not None else "")
        self.step_id = op.name
        told: Mapping[str, Any] = op.extras.get("metadata") or {}
        self.step_action = str(told.get("action", ""))
        self.state = _fields(copied(op.request.inputs))

    def _read_request(self, op: Operation) -> None:
        self.inputs = op.request.inputs


@dataclass(slots=True, kw_only=True)
class LLMHookContext(HookContext):
    """Context of ``llm.call``.

    Attributes:
        model: The requested model.
        provider: The provider, such as ``openai``.
        messages: The messages in the conventions' role/parts form.
        system_prompt: System instructions given apart from the messages.
        tools: Names of the available tools.
        response_text: The text of the response; empty before the call.
    """

    REQUEST: ClassVar[Mapping[str, str]] = {"model": "model", "messages": "messages", "system_prompt": "system"}

    model: str = ""
    provider: str = ""
    messages: list[Message] = field(default_factory=list[Message])
    system_prompt: str = ""
    tools: list[str] = field(default_factory=list[str])
    response_text: str = ""

    def _read(self, op: Operation) -> None:
        self.provider, self.tools = op.provider, list(op.request.tools)

    def _read_request(self, op: Operation) -> None:
        self.model = op.model
        self.messages, self.system_prompt = op.request.messages, op.request.system

    def _read_result(self, op: Operation) -> None:
        self.response_text = op.response.text


@dataclass(slots=True, kw_only=True)
class MemoryHookContext(HookContext):
    """Context of ``memory.store``.

    Attributes:
        namespace: Where it is written, joined by ``/``.
        inputs: What is written, as passed to the store.
    """

    REQUEST: ClassVar[Mapping[str, str]] = {"inputs": "inputs"}

    namespace: str = ""
    inputs: Any = None

    def _read(self, op: Operation) -> None:
        self.namespace = op.name

    def _read_request(self, op: Operation) -> None:
        self.inputs = op.request.inputs


@dataclass(slots=True, kw_only=True)
class OperationHookContext(HookContext):
    """Context of every other kind, your own included.

    Attributes:
        name: What the operation works on.
        inputs: Its input.
        arguments: Its input by name, if it has names.
    """

    REQUEST: ClassVar[Mapping[str, str]] = {"inputs": "inputs", "arguments": "arguments"}

    name: str = ""
    inputs: Any = None
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])

    def _read(self, op: Operation) -> None:
        self.name = op.name

    def _read_request(self, op: Operation) -> None:
        self.inputs, self.arguments = op.request.inputs, op.request.arguments


def _subject(op: Operation) -> Any:
    """The object that the library's call was made on; ``None`` for the application's own code."""
    record = op._record
    return None if record.adapter.layer == "own code" else record.instance


def _fields(value: Any) -> dict[str, Any]:
    """A state's fields by name: of a mapping, a pydantic model or a dataclass."""
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, Any]", value))
    dump: Callable[[], Any] | None = getattr(value, "model_dump", None)
    if callable(dump):
        return dict(getattr(value, "__dict__", {}))
    names = getattr(value, "__dataclass_fields__", None)
    return {name: getattr(value, name, None) for name in names} if names else {}
