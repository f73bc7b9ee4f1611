"""The outer messages of OTLP in the wire format of protocol buffers, taken apart before they are parsed.

Parsed messages can need a hundred times the memory of their bytes, so the records in a request are counted first. All
three signals have the same outer form (https://opentelemetry.io/docs/specs/otlp/): a request of resources, a resource
of scopes, a scope of records.
"""

from typing import TypeVar

from google.protobuf.message import DecodeError, Message

from spanhook.errors import SpanhookError

_FIRST, _SECOND = 1, 2
_WIDTHS = {1: 8, 5: 4}
_LENGTH, _VARINT = 2, 0
_LONGEST_VARINT = 70


class IngestError(SpanhookError):
    """Telemetry cannot be taken; the message may be shown to whoever sent it."""


class MalformedError(IngestError):
    """It is not what it says it is; sending it again is no use."""


class TooLargeError(IngestError):
    """It is larger than what is accepted at once."""


class UnsupportedError(IngestError):
    """It is in a form that is not supported."""


M = TypeVar("M", bound=Message)


def parsed(kind: type[M], data: bytes, what: str) -> M:
    """A message.

    Args:
        kind: Its class.
        data: Its bytes.
        what: What it is, for the error.

    Raises:
        MalformedError: It cannot be read.
    """
    try:
        return kind.FromString(data)
    except DecodeError:
        raise MalformedError(f"a {what} cannot be read") from None


Group = tuple[bytes, bytes, list[bytes]]
"""A resource, a scope and records, each serialized."""


def groups(data: bytes, most: int) -> list[Group]:
    """The records of a request.

    Args:
        data: An export request of OTLP.
        most: How many records, scopes and resources it may have.

    Raises:
        MalformedError: It is no such request.
        TooLargeError: It has more of them.
    """
    found: list[Group] = []
    try:
        left = most
        for resource_group in _fields(data, _FIRST, left):
            resource = b"".join(_fields(resource_group, _FIRST, left))  # parts of a message are merged
            left -= 1
            for scope_group in _fields(resource_group, _SECOND, left):
                records = _fields(scope_group, _SECOND, left)
                left -= 1 + len(records)
                found.append((resource, b"".join(_fields(scope_group, _FIRST, most)), records))
    except IndexError:
        raise MalformedError("the body is cut off, or is not an OTLP message") from None
    return found


def _fields(data: bytes, wanted: int, most: int) -> list[bytes]:
    """The bytes of all messages in one field."""
    found: list[bytes] = []
    add, at, end = found.append, 0, len(data)
    key = wanted << 3 | _LENGTH
    while at < end:
        tag = data[at]
        at += 1
        if tag == key:
            length = data[at]
            at += 1
            if length > 127:
                length, at = _varint(data, at - 1)
            stop = at + length
            if stop > end:
                raise IndexError
            add(data[at:stop])
            if len(found) > most:
                raise TooLargeError("the request has too many records; send smaller batches")
            at = stop
        else:
            at = _skip(data, at - 1)
            if at > end:
                raise IndexError
    return found


def _skip(data: bytes, at: int) -> int:
    """The place after the field that begins at ``at``."""
    tag, at = _varint(data, at)
    sort = tag & 7
    if tag >> 3 == 0:
        raise MalformedError("the body is not an OTLP message: it has a field without a number")
    if sort == _LENGTH:
        length, at = _varint(data, at)
        return at + length
    if sort == _VARINT:
        return _varint(data, at)[1]
    width = _WIDTHS.get(sort)
    if width is None:
        raise MalformedError("the body is not an OTLP message: it has a field of an unknown type")
    return at + width


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
        if shift >= _LONGEST_VARINT:
            raise MalformedError("the body is not an OTLP message: a number in it does not end")
