"""Refusals in Haystack's terms: exceptions of its own, which its agents and pipelines take for what they are."""

from typing import Any

from haystack.tools.errors import ToolInvocationError

from spanhook.errors import Reject
from spanhook.instrument.signatures import Signature
from spanhook.model import Args, Kwargs, Opening, exact_text, joined

_FAILED = Signature("component_name", "component_type", "error")


def of_tool(instance: Any, _args: Args, _kwargs: Kwargs, reject: Reject) -> BaseException:
    """What a tool raises that has failed: agents make a result of it, which the model is told."""
    return ToolInvocationError(reject.reason, tool_name=exact_text(instance.name))


def of_component(_opening: Opening, wrapped: Any, _instance: Any, args: Args, kwargs: Kwargs) -> BaseException:
    """What a pipeline raises for a component that has failed; for one that was refused it is the rejection, too.

    No operation opens here.
    """
    own, reject = wrapped(*args, **kwargs), _rejection(_FAILED.given(args, kwargs, "error"))
    return own if reject is None else joined(reject, own)


def _rejection(error: Any) -> Reject | None:
    """The rejection that an error is, or was made of, as evaluators do."""
    while isinstance(error, BaseException) and not isinstance(error, Reject):
        error = error.__cause__
    return error
