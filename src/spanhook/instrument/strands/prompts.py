"""Prompts of agents: text, content blocks, or messages; read as messages, and put back in the form that they had."""

from collections.abc import Sequence
from typing import Any, cast

from spanhook.instrument.formats.bedrock import Converse
from spanhook.instrument.wire import one_prompt
from spanhook.model import Carried, Change, Message

_CONVERSE = Converse()


def natives(prompt: Any) -> list[Any]:
    """A prompt as messages of the library's; none for one without a message, such as the answer to an interrupt."""
    if isinstance(prompt, str):
        return [{"role": "user", "content": [{"text": prompt}]}]
    given = cast("Sequence[Any]", prompt) if isinstance(prompt, list) else ()
    if given and all(isinstance(one, dict) and "role" in one for one in given):
        return list(given)
    blocks = [one for one in given if isinstance(one, dict) and "interruptResponse" not in one]
    return [{"role": "user", "content": blocks}] if blocks else []


def messages_of(prompt: Any) -> list[Message]:
    """A prompt as messages in role/parts form."""
    return [_CONVERSE.message(one) for one in natives(prompt)]


def carried_in(prompt: Any) -> Carried:
    """What a prompt asks, in whichever form, and how it answers interrupts."""
    given = cast("Sequence[Any]", prompt) if isinstance(prompt, list) else ()
    answers = [one for one in given if isinstance(one, dict) and "interruptResponse" in one]
    return [repr((messages_of(prompt), answers))]


def rewritten(prompt: Any, change: Change) -> Any:
    """A prompt as a hook has changed it; still text if it was and is."""
    if change.inputs is not None:
        prompt = change.inputs
    if change.messages is None:
        return prompt
    body: dict[str, Any] = {"messages": natives(prompt)}
    _CONVERSE.rewrite(body, Change(messages=one_prompt(change.messages)))
    messages: list[Any] = body["messages"]
    blocks = messages[0]["content"] if len(messages) == 1 and messages[0].get("role") == "user" else None
    if isinstance(prompt, str) and blocks and len(blocks) == 1 and set(blocks[0]) == {"text"}:
        return blocks[0]["text"]
    return messages


def response(value: Any) -> Any:
    """The message of an agent that gives this answer: text, or messages in role/parts form.

    Raises:
        TypeError: It is neither.
    """
    return _CONVERSE.payload({}, value)["output"]["message"]
