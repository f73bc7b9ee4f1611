"""Refusals in CrewAI's terms: its own exception, which its agents do not retry."""

from typing import Any

from crewai.agent import core

from spanhook.errors import Reject
from spanhook.model import Args, Kwargs

try:
    from crewai.hooks.dispatch import HookAborted
except ImportError:  # before 1.15.3
    HookAborted = None


def aborted(_instance: Any, _args: Args, _kwargs: Kwargs, reject: Reject) -> BaseException | None:
    """What CrewAI's own hooks raise to refuse."""
    return None if HookAborted is None else HookAborted(reject.reason, source="spanhook")


def told(reason: str) -> str:
    """What the model is told of a tool call that was refused."""
    return f"Tool call rejected: {reason}"


def failed(agent: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """An agent's task has failed: what hooks have refused is not tried again, also by versions that would."""
    error = args[0] if args else kwargs.get("e")
    if not isinstance(error, core._passthrough_exceptions) and _is_refusal(error):
        agent._times_executed = max(agent._times_executed, agent.max_retry_limit)
    return args, kwargs


def _is_refusal(error: Any) -> bool:
    return isinstance(error, Reject) or isinstance(getattr(error, "__cause__", None), Reject)
