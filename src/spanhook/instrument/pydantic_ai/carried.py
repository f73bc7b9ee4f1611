"""What identifies a model's request, so that a client's request inside it is known to be its transport."""

from collections.abc import Sequence
from typing import Any

from pydantic_ai.messages import ModelResponse

from spanhook.instrument.pydantic_ai.messages import contents_of
from spanhook.model import Carried, Pieces, in_pieces


def last_text(messages: Sequence[Any]) -> Carried:
    """The text of the last message, in the pieces of which clients make messages of their own."""
    if not messages:
        return [None]
    last = messages[-1]
    if isinstance(last, ModelResponse):
        return [in_pieces([part.content for part in last.parts if part.part_kind == "text"])]
    told, plain = [], []
    for part in last.parts:
        kind = part.part_kind
        if kind == "tool-return":
            told.append(part.model_response_str())
            plain.append(_plain_return(part))
        elif hasattr(part, "model_response"):
            told.append(part.model_response())
            plain.append(told[-1])
        elif isinstance(part.content if hasattr(part, "content") else None, str | list | tuple):
            texts = [one["content"] for one in contents_of(part.content) if one["type"] == "text"]
            told.extend(texts)
            plain.extend(texts)
    return [_either([text for text in told if text], [text for text in plain if text])]


def _plain_return(part: Any) -> str:
    """The text of a tool's result, for clients that say apart from it whether it is an error."""
    return part.content if isinstance(part.content, str) else part.model_response_str()


def _either(told: list[str], plain: list[str]) -> str | None:
    if told == plain:
        return in_pieces(told)
    made = Pieces(told)
    made.ends = made.ends | Pieces(plain).ends
    return made
