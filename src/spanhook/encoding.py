"""Strings that can be exported: OTLP is UTF-8, which has no lone surrogates, and one of them costs its whole batch."""

import re
from collections.abc import MutableMapping
from typing import Any

_SURROGATES = re.compile("[\ud800-\udfff]")


def encodable(text: str) -> str:
    """The text with a replacement character for each surrogate."""
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)


def make_encodable(attributes: MutableMapping[str, Any]) -> None:
    """Replace, in place, the strings among attribute values that cannot be exported."""
    for name, value in attributes.items():
        kind = type(value)
        if kind is str:
            if not value.isascii():
                attributes[name] = encodable(value)
        elif kind is tuple or kind is list:
            attributes[name] = tuple(encodable(one) if type(one) is str else one for one in value)


def encodable_body(value: Any) -> Any:
    """The body of a log record with every string in it encodable."""
    kind = type(value)
    if kind is str:
        return encodable(value)
    if kind is dict:
        return {encodable(str(name)): encodable_body(one) for name, one in value.items()}
    if kind is list:
        return [encodable_body(one) for one in value]
    return value
