"""The messages that agents and models are given alike: what identifies them, and how they are rewritten."""

from typing import Any

from spanhook.instrument.fast_agent.arguments import GENERATE as CALL
from spanhook.instrument.fast_agent.messages import listed, read, rewritten
from spanhook.instrument.wire import last_text, one_prompt
from spanhook.model import Args, Carried, Change, Kwargs


def messages_carry(_instance: Any, args: Args, kwargs: Kwargs) -> Carried:
    return last_text(listed(CALL.given(args, kwargs, "messages")), read)


def messages_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    given = CALL.given(args, kwargs, "messages") if change.inputs is None else change.inputs
    if change.messages is not None:
        given = rewritten(listed(given), one_prompt(change.messages))
    return CALL.having(args, kwargs, messages=given)
