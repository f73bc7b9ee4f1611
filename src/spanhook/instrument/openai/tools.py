"""Functions, computers and browsers that the tool runners of OpenAI's newer SDKs run.

Each adapter is that of the one method, or function, in which all ways of running such a thing end.
"""

import copy
from typing import Any

from spanhook.instrument.functions import Functions
from spanhook.instrument.wire import decoded, is_model, plain
from spanhook.model import Args, Kwargs, first, json_text

_LAYER = "openai.tool"


def _output(call_id: Any, said: Any) -> dict[str, Any]:
    """The item that tells the model what a function returned."""
    given = said if isinstance(said, str | list) else json_text(said)
    return {"type": "function_call_output", "call_id": call_id, "output": given}


# ------------------------------------------------------------------------------- registered functions: (run, item)


def _item(args: Args, kwargs: Kwargs) -> Any:
    return args[1] if len(args) > 1 else kwargs["item"]


def _given(args: Args, kwargs: Kwargs) -> Any:
    """What the function gets: a dict, or a model if it was registered with one; the run forgets it afterwards."""
    item = _item(args, kwargs)
    found = first(args, kwargs, "run").arguments.get(item.call_id)
    return decoded(item.arguments) if found is None else found


def _arguments(_instance: Any, args: Args, kwargs: Kwargs) -> dict[str, Any]:
    given = _given(args, kwargs)
    return plain(given) if isinstance(given, dict) or is_model(given) else {"input": given}


def _with_arguments(_instance: Any, args: Args, kwargs: Kwargs, given: dict[str, Any]) -> tuple[Args, Kwargs]:
    """The call for a copy of the run, which holds the arguments of all calls."""
    run, item, before = first(args, kwargs, "run"), _item(args, kwargs), _given(args, kwargs)
    twin = copy.copy(run)
    made = given if isinstance(before, dict) else type(before).model_validate(given)
    twin.arguments = {**run.arguments, item.call_id: made}
    return (twin, item), {}


def _described(instance: Any, args: Args, kwargs: Kwargs) -> Any:
    return instance._functions[_item(args, kwargs).name].tool.get("description")


FUNCTION = Functions(
    layer=_LAYER,
    name=lambda _instance, args, kwargs: _item(args, kwargs).name,
    call_id=lambda _instance, args, kwargs: _item(args, kwargs).call_id,
    description=_described,
    arguments=_arguments,
    with_arguments=_with_arguments,
    output=lambda result: result.get("output"),
    answer=lambda _instance, args, kwargs, value: _output(_item(args, kwargs).call_id, value),
    rejected=lambda _instance, args, kwargs, reason: _output(_item(args, kwargs).call_id, reason),
).adapter()


# ------------------------------------------------------------------------------- computers and browsers: (call, ...)


def _call(args: Args, kwargs: Kwargs) -> Any:
    return first(args, kwargs, "call")


def _actions(_instance: Any, args: Args, kwargs: Kwargs) -> dict[str, Any]:
    told = plain(_call(args, kwargs))
    return {"actions": told.get("actions") or [told.get("action")]}


#: The actions of one call, after which the model gets a picture; so a refusal is raised.
COMPUTER = Functions(
    layer=_LAYER,
    name=lambda _instance, _args, _kwargs: "computer",
    call_id=lambda _instance, args, kwargs: _call(args, kwargs).call_id,
    arguments=_actions,
).adapter()
BROWSER = Functions(
    layer=_LAYER,
    name=lambda _instance, args, kwargs: _call(args, kwargs).name,
    call_id=lambda _instance, args, kwargs: _call(args, kwargs).call_id,
    arguments=lambda _instance, args, kwargs: decoded(_call(args, kwargs).arguments),
    output=lambda result: result[0].get("output"),
    answer=lambda _instance, args, kwargs, value: (_output(_call(args, kwargs).call_id, value), True),
    rejected=lambda _instance, args, kwargs, reason: (_output(_call(args, kwargs).call_id, reason), False),
).adapter()


# ------------------------------------------------------------------------------- decisions and agents

#: What is done if a decision chooses it, without arguments; a refusal ends the runner with its own error.
DECISION = Functions(
    layer=_LAYER,
    name=lambda instance, _args, _kwargs: instance.id,
    description=lambda instance, _args, _kwargs: instance.description,
    arguments=lambda _instance, _args, _kwargs: {},
).adapter()
#: Functions for OpenAI's agents; the model is told that a refused one has failed.
AGENT = Functions(
    layer=_LAYER,
    name=lambda instance, _args, _kwargs: instance.call.name,
    call_id=lambda instance, _args, _kwargs: instance.call.call_id,
    arguments=lambda instance, _args, _kwargs: decoded(instance.call.arguments),
).adapter()
