"""Tools that act on this machine for the model: shells, custom tools, patches, computers.

The application gives the SDK a function or an object for each, and the SDK calls it for what the model wants done.
"""

from dataclasses import replace
from typing import Any

from openai._models import construct_type
from openai.types.responses.response_computer_tool_call import Action

from spanhook import semconv
from spanhook.instrument.openai_agents.signatures import COMPUTER as SIGNATURE
from spanhook.instrument.openai_agents.tools import TOOL, describe, held_call, with_arguments
from spanhook.model import Adapter, Args, Attributes, Change, Kwargs, Request, copied, first, with_first


def _attributes(tool: Any, call: Any) -> Attributes:
    attributes = describe(tool, None, "function")
    attributes.pop(semconv.GEN_AI_TOOL_DESCRIPTION, None)
    call_id = getattr(call, "call_id", None)
    if isinstance(call_id, str) and call_id:
        attributes[semconv.GEN_AI_TOOL_CALL_ID] = call_id
    return attributes


def _plain(value: Any) -> Any:
    """A call of the model's as plain data."""
    if hasattr(value, "to_dict"):
        return value.to_dict(mode="json", warnings=False)
    return dict(vars(value)) if hasattr(value, "__dict__") else value


# ----------------------------------------------------------------------------------------------- shells


def shell_start(instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    return _attributes(instance, first(args, kwargs, "request").data)


def shell_request(_instance: Any, args: Args, kwargs: Kwargs) -> Request:
    action = first(args, kwargs, "request").data.action
    given = {name: value for name, value in _plain(action).items() if value is not None and name != "type"}
    return Request(arguments=copied(given), inputs=given)


def shell_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    request = first(args, kwargs, "request")
    action, changes = request.data.action, dict(change.arguments or {})
    unknown = changes.keys() - _plain(action).keys()
    if unknown:
        raise ValueError(f"a shell's call has no argument {sorted(map(str, unknown))}")
    data = _copy(request.data, action=_copy(action, **changes))
    return with_first(args, kwargs, "request", replace(request, data=data))


def _copy(value: Any, **changes: Any) -> Any:
    return value.model_copy(update=changes) if hasattr(value, "model_copy") else replace(value, **changes)


SHELL = replace(
    TOOL,
    start=shell_start,
    reading=replace(TOOL.reading, request=shell_request),
    editing=replace(
        TOOL.editing,
        rewrite=shell_rewrite,
        takes=frozenset(("arguments",)),
        prepare=None,
        rejected=None,  # raised: the SDK tells the model what a shell raises
    ),
    nesting=replace(TOOL.nesting, role="client", carries=None),
)


def local_shell_rejected(_instance: Any, _args: Args, _kwargs: Kwargs, reason: str) -> str:
    """What the model is told; the SDK would let an exception of a local shell end the run."""
    return f"Tool call rejected: {reason}"


LOCAL_SHELL = replace(SHELL, editing=replace(SHELL.editing, rejected=local_shell_rejected))


# ----------------------------------------------------------------------------------------------- custom tools


def custom_request(instance: Any, args: Args, kwargs: Kwargs) -> Request:
    given = held_call(instance, args, kwargs).arguments
    return Request(arguments={"input": given}, inputs=given)


def custom_start(instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    return describe(instance, held_call(instance, args, kwargs).context, "function")


def custom_rewrite(instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    given = change.inputs if change.arguments is None else change.arguments.get("input")
    if not isinstance(given, str) or (change.arguments is not None and len(change.arguments) != 1):
        raise ValueError(f"the custom tool {instance.name!r} takes text: op.replace(arguments={{'input': ...}})")
    return with_arguments(args, kwargs, given)


CUSTOM = replace(
    SHELL,
    start=custom_start,
    reading=replace(SHELL.reading, request=custom_request),
    editing=replace(SHELL.editing, rewrite=custom_rewrite, takes=frozenset(("arguments", "inputs"))),
)


# ----------------------------------------------------------------------------------------------- patches

_PATCH = ("type", "path", "diff", "move_to")


def patch_start(instance: Any, _args: Args, _kwargs: Kwargs) -> Attributes:
    return _attributes(instance, None)


def patch_request(_instance: Any, args: Args, kwargs: Kwargs) -> Request:
    operation = first(args, kwargs, "operation")
    given = {name: getattr(operation, name, None) for name in _PATCH}
    return Request(arguments={name: value for name, value in given.items() if value is not None}, inputs=given)


def patch_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    operation, changes = first(args, kwargs, "operation"), dict(change.arguments or {})
    if changes.get("type", operation.type) != operation.type:
        raise ValueError(f"a patch that is to {operation.type} stays one; refuse it instead")
    return with_first(args, kwargs, "operation", replace(operation, **changes))


PATCH = replace(
    SHELL,
    start=patch_start,
    reading=replace(SHELL.reading, request=patch_request),
    editing=replace(SHELL.editing, rewrite=patch_rewrite),
)


# ----------------------------------------------------------------------------------------------- computers


def _call(args: Args, kwargs: Kwargs) -> Any:
    return SIGNATURE.given(args, kwargs, "tool_call")


def computer_start(_instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    attributes: Attributes = {semconv.GEN_AI_TOOL_NAME: "computer", semconv.GEN_AI_TOOL_TYPE: "function"}
    call_id = getattr(_call(args, kwargs), "call_id", None)
    if call_id:
        attributes[semconv.GEN_AI_TOOL_CALL_ID] = call_id
    return attributes


def computer_request(_instance: Any, args: Args, kwargs: Kwargs) -> Request:
    call = _call(args, kwargs)
    actions = getattr(call, "actions", None) or ([call.action] if call.action is not None else [])
    given = [_plain(action) for action in actions]
    return Request(arguments={"actions": given}, inputs=given)


def computer_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    call, given = _call(args, kwargs), change.arguments or {}
    if given.keys() != {"actions"}:
        raise ValueError("a computer's call has one argument, 'actions'")
    actions: Any = construct_type(type_=list[Action], value=[dict(action) for action in given["actions"]])
    changes = {"actions": actions} if getattr(call, "actions", None) or len(actions) != 1 else {"action": actions[0]}
    return SIGNATURE.having(args, kwargs, tool_call=call.model_copy(update=changes))


def computer_output(_result: Any) -> list[Any]:
    return [{"role": "tool", "parts": [{"type": "tool_call_response", "response": "a screenshot"}]}]


COMPUTER: Adapter = replace(
    SHELL,
    start=computer_start,
    reading=replace(SHELL.reading, request=computer_request, output=computer_output),
    editing=replace(SHELL.editing, rewrite=computer_rewrite, takes=frozenset(("arguments",))),
)
