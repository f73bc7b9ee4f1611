"""Attributes of OTLP as plain data, within the bounds of what columns hold."""

from collections.abc import Iterable
from typing import Any

from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from spanhook.store.control.facts import short

NANO = 1_000_000_000
DAY_NS = 86_400 * NANO
LARGEST = 4 * 1024 * 1024
"""Bytes of one record; larger ones are rejected."""
LONGEST_TEXT = 4_000
"""Characters of texts that are in no index."""
MOST_COUNT, MOST_NANO = 10**12, 10**18
"""What no single call can use: such numbers are mistakes, or meant to do harm."""
Found = dict[str, Any]


def number_of(value: Any) -> float:
    """A number of OTLP, of whichever type."""
    return value.int_value or value.double_value


def count_of(found: Found, name: str) -> int:
    """A count; 0 for what can be none."""
    value = found.get(name, 0)
    return int(value) if isinstance(value, int | float) and 0 <= value <= MOST_COUNT else 0


def nano(value: float) -> int:
    """Billionths of a number; 0 for what is none, such as infinity."""
    billionths = value * 1e9
    return round(billionths) if 0 <= billionths <= MOST_NANO else 0


def read_all(attributes: Iterable[KeyValue]) -> Found:
    """All attributes that are texts or numbers."""
    found: Found = {}
    for one in attributes:
        sort = one.value.WhichOneof("value")
        if sort in ("string_value", "int_value", "double_value", "bool_value"):
            found[one.key] = getattr(one.value, sort)
    return found


def text_of(found: Found, name: str) -> str:
    """An attribute as a text that fits into an index; empty if there is none."""
    value = found.get(name, "")
    return short(value) if isinstance(value, str) else ""


def plain(value: AnyValue) -> Any:
    """A value of OTLP as plain data; bytes as hexadecimal digits."""
    sort = value.WhichOneof("value")
    if sort is None:
        return None
    if sort == "kvlist_value":
        return {one.key: plain(one.value) for one in value.kvlist_value.values}
    if sort == "array_value":
        return [plain(one) for one in value.array_value.values]
    found: Any = getattr(value, sort)
    return found.hex() if isinstance(found, bytes) else found
