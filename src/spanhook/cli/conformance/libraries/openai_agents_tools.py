"""Tools that act on this machine for a model of OpenAI's Agents SDK, and a model that sends no requests."""

from collections.abc import AsyncIterator
from typing import Any

import agents
from agents import (
    Agent,
    ApplyPatchTool,
    AsyncComputer,
    ComputerTool,
    LocalShellTool,
    Model,
    ModelResponse,
    OpenAIResponsesModel,
    ShellTool,
    Usage,
)
from agents.editor import ApplyPatchResult
from agents.run_internal import tool_actions
from openai._models import construct_type
from openai.types.responses import Response, ResponseStreamEvent

from spanhook.cli.conformance.libraries.openai_agents_ways import BOTH_WAYS, Run, listeners, model_of
from spanhook.cli.conformance.servers import openai_bodies as bodies
from spanhook.cli.conformance.servers.openai_server import Reply
from spanhook.cli.conformance.subject import PLANTED, Body, Subject

DID = "wrote letters twice"
"""What these tools say."""


def _run(tool: Any, item: dict[str, Any]) -> Run:
    model = model_of(OpenAIResponsesModel, Body(), ([item], "All done."))
    return Run(Agent(name="helper", model=model, tools=[tool]))


# ------------------------------------------------------------------------------------------------- shells


def _shell(body: Body) -> Run:
    async def execute(request: Any) -> str:
        body.run(request.data.action.commands)
        return DID

    return _run(ShellTool(execute), {"type": "shell_call", "action": {"commands": ["ls"]}})


def _sync_shell(body: Body) -> Run:
    def execute(request: Any) -> str:
        body.run(request.data.action.commands)
        return DID

    return _run(ShellTool(execute), {"type": "shell_call", "action": {"commands": ["ls"]}})


def _local_shell(body: Body) -> Run:
    async def execute(request: Any) -> str:
        body.run(request.data.action.command)
        return DID

    action: dict[str, Any] = {"type": "exec", "command": ["ls"], "env": {}}
    return _run(LocalShellTool(execute), {"type": "local_shell_call", "action": action})


# ------------------------------------------------------------------------------------------------- custom tools


def _custom(body: Body) -> Run:
    async def invoke(_context: Any, given: str) -> str:
        body.run(given)
        return DID

    tool: Any = getattr(agents, "CustomTool")  # noqa: B009 - not in every version
    made = tool(name="look_up", description="Look something up.", on_invoke_tool=invoke)
    return _run(made, {"type": "custom_tool_call", "name": "look_up", "input": "tea"})


# ------------------------------------------------------------------------------------------------- patches


class Editor:
    """An editor that counts what it does."""

    def __init__(self, body: Body) -> None:
        self._body = body

    async def create_file(self, operation: Any) -> ApplyPatchResult:
        self._body.run(operation.diff)
        return ApplyPatchResult(output=DID)

    update_file: Any = create_file

    def delete_file(self, operation: Any) -> ApplyPatchResult:
        self._body.run(operation.path)
        return ApplyPatchResult(output=DID)


def _patch(body: Body) -> Run:
    operation = {"type": "update_file", "path": "tea.md", "diff": "+tea"}
    return _run(ApplyPatchTool(Editor(body)), {"type": "apply_patch_call", "operation": operation})


# ------------------------------------------------------------------------------------------------- computers


class Computer(AsyncComputer):
    """A computer that counts what is typed."""

    def __init__(self, body: Body) -> None:
        self._body = body

    @property
    def environment(self) -> Any:
        return "browser"

    @property
    def dimensions(self) -> tuple[int, int]:
        return 10, 10

    async def screenshot(self) -> str:
        return "iVBORw0K"

    async def type(self, text: str) -> None:
        self._body.run(text)

    async def click(self, x: int, y: int, button: Any, **_more: Any) -> None: ...
    async def double_click(self, x: int, y: int, **_more: Any) -> None: ...
    async def scroll(self, x: int, y: int, scroll_x: int, scroll_y: int, **_more: Any) -> None: ...
    async def wait(self) -> None: ...
    async def move(self, x: int, y: int, **_more: Any) -> None: ...
    async def keypress(self, keys: list[str]) -> None: ...
    async def drag(self, path: list[tuple[int, int]], **_more: Any) -> None: ...


def _computer(body: Body) -> Run:
    action = {"type": "type", "text": "tea"}
    item: dict[str, Any] = {"type": "computer_call", "action": action, "pending_safety_checks": []}
    return _run(ComputerTool(Computer(body)), item)


def _another_patch(arguments: dict[str, Any]) -> dict[str, Any]:
    return {**arguments, "diff": PLANTED}


def _other_keys(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"actions": [{**action, "text": PLANTED} for action in arguments["actions"]]}


_TOLD: dict[str, Any] = {"raises": False, "said": DID}
_TRACED: dict[str, Any] = {"listeners": listeners} if hasattr(tool_actions, "with_tool_function_span") else {}
_HAS_CUSTOM = hasattr(agents, "CustomTool")

NATIVE = (
    Subject("shell", "tool.execute", _shell, BOTH_WAYS, {}, **_TOLD, **_TRACED),
    Subject("shell with a plain function", "tool.execute", _sync_shell, BOTH_WAYS, {}, **_TOLD),
    Subject("local shell", "tool.execute", _local_shell, BOTH_WAYS, {}, **_TOLD),  # which the SDK does not trace
    Subject(
        "custom tool",
        "tool.execute",
        _custom,
        BOTH_WAYS if _HAS_CUSTOM else {},
        {},
        lacking=() if _HAS_CUSTOM else tuple(BOTH_WAYS),
        **_TOLD,
        **_TRACED,
    ),
    Subject("patch", "tool.execute", _patch, BOTH_WAYS, {}, rewrites=_another_patch, **_TOLD, **_TRACED),
    Subject("computer", "tool.execute", _computer, BOTH_WAYS, {}, rewrites=_other_keys),
)


# ------------------------------------------------------------------------------------------------- models


class OwnModel(Model):
    """A model of the application's own, without any client."""

    def __init__(self, body: Body) -> None:
        self.model = "own"
        self._body = body

    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **kwargs: Any) -> ModelResponse:
        self._body.run(input, Reply.tokens.total)
        used = Reply.tokens
        usage = Usage(requests=1, input_tokens=used.input, output_tokens=used.output, total_tokens=used.total)
        response: Any = construct_type(type_=Response, value=bodies.response({"model": "own"}, Reply()))
        return ModelResponse(output=response.output, usage=usage, response_id=None)

    async def stream_response(
        self, system_instructions: Any, input: Any, *args: Any, **kwargs: Any
    ) -> AsyncIterator[Any]:
        self._body.run(input, Reply.tokens.total)
        for _, data in bodies.response_events({"model": "own"}, Reply()):
            yield construct_type(type_=ResponseStreamEvent, value=data)
