"""Contents, which the library has for every model: those of Google's SDK. Read, copied, and made of what hooks give.

What a hook did not change stays the object that it was.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from google.genai import types
from pydantic import BaseModel

from spanhook.instrument.formats.google import GenerateContent
from spanhook.instrument.wire import one_prompt
from spanhook.model import Change, Message, copies_models

copies_models(BaseModel, "google")

FORMAT = GenerateContent()


def read(content: Any) -> Message:
    """A content in role/parts form."""
    return FORMAT.message(content)


def read_all(contents: Iterable[Any]) -> list[Message]:
    """Contents in role/parts form."""
    return [read(one) for one in contents]


def rewritten(contents: Sequence[Any], change: Change) -> list[Any]:
    """Contents as a hook has changed them."""
    body: dict[str, Any] = {"contents": list(contents)}
    messages = None if change.messages is None else one_prompt(change.messages)
    FORMAT.rewrite(body, Change(messages=messages, inputs=change.inputs))
    return [native(one) for one in body["contents"]]


def native(wire: Any) -> Any:
    """A content of the SDK's for one as JSON."""
    return types.Content.model_validate_json(json.dumps(wire)) if isinstance(wire, dict) else wire


def said(value: Any, role: str = "model") -> Any:
    """The content that a hook gives: one of the SDK's, text, or messages in role/parts form.

    Raises:
        TypeError: It is none of these.
    """
    if isinstance(value, types.Content):
        return value
    (first, *_) = FORMAT.payload({}, value)["candidates"]
    return native({**first["content"], "role": role})


def output_of(content: Any) -> list[Message]:
    """What a model or an agent has said, as messages."""
    return [] if content is None else [{**read(content), "role": "assistant"}]
