"""Types of columns that hold the same on SQLite and PostgreSQL, whatever applications send."""

import json
from typing import Any

from sqlalchemy import BigInteger, Integer, Text
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

LEAST, MOST = -(2**63), 2**63 - 1
"""The whole numbers that a column can hold."""

Big = BigInteger().with_variant(Integer, "sqlite")
"""64 bits; on SQLite only ``INTEGER`` makes a primary key count by itself."""


def clean(text: str) -> str:
    """A text that both databases store: NUL and lone surrogates become the replacement character U+FFFD."""
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def bounded(number: int) -> int:
    """The nearest whole number that a column can hold."""
    return max(LEAST, min(MOST, number))


class SafeText(TypeDecorator[str]):
    """Text of which nothing makes a database refuse the row; see ``clean``."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002 - its signature
        return None if value is None else clean(value)


class Json(TypeDecorator[Any]):
    """Plain data as the text of JSON, in ASCII: PostgreSQL's own type refuses NUL."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:  # noqa: ARG002 - its signature
        return None if value is None else json.dumps(value, separators=(",", ":"))

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:  # noqa: ARG002 - its signature
        return None if value is None else json.loads(value)
