"""Refusals in Haystack's terms: exceptions of its own, which its agents and pipelines take for what they are."""

from typing import Any

from haystack.core.errors import PipelineRuntimeError
from haystack.tools.errors import ToolInvocationError

from spanhook.errors import Reject
from spanhook.instrument.haystack.describing import PROVIDER
from spanhook.model import Args, Kwargs, current_record


def in_pipeline(instance: Any, _args: Args, _kwargs: Kwargs, reject: Reject) -> BaseException | None:
    """What a pipeline raises for a component that has failed, and lets through; nothing, if there is no pipeline.

    Agents run their components as pipelines do, before version 3.
    """
    op = current_record()
    while op is not None:
        if op.adapter.layer in (f"{PROVIDER}.pipeline", f"{PROVIDER}.agent") and op.instance is not instance:
            name = getattr(instance, "__component_name__", None)
            return PipelineRuntimeError(name, type(instance), reject.reason)
        op = op.parent
    return None


def of_tool(instance: Any, _args: Args, _kwargs: Kwargs, reject: Reject) -> BaseException:
    """What a tool raises that has failed: agents make a result of it, which the model is told."""
    return ToolInvocationError(reject.reason, tool_name=str(instance.name))
