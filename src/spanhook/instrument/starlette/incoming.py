"""A request as hooks read and rewrite it."""

from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any, cast

from spanhook.errors import HookError

Scope = MutableMapping[str, Any]
Raw = list[tuple[bytes, bytes]]
_JOINED = {"cookie": "; "}
"""What separates several headers of one name, if not a comma."""
_FRAMING = ("content-length", "transfer-encoding")


@dataclass(frozen=True, slots=True)
class Incoming:
    """A request.

    Attributes:
        method, path: Its method and path.
        headers: Its headers, by their names in lower case.
        body: Its body; ``None`` if nobody asked for it.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes | None = None

    def inputs(self) -> dict[str, Any]:
        """The request in common terms."""
        told = {"method": self.method, "path": self.path, "headers": dict(self.headers)}
        return told if self.body is None else {**told, "body": self.body}

    def rewritten(self, asked: Mapping[str, Any]) -> "Incoming":
        """The request with other headers, or another body.

        Raises:
            HookError: Something else was to be rewritten, or the values cannot be those of a request.
        """
        given = self.inputs()
        other = [name for name in {**given, **asked} if name not in ("headers", "body")]
        for name in other:
            if asked.get(name) != given.get(name):
                raise HookError(f"op.replace() was asked to change {name!r}; of a request it takes headers= and body=")
        headers: Any = asked.get("headers", self.headers)
        body = asked.get("body", self.body)
        if not isinstance(headers, Mapping):
            raise HookError(f"op.replace(headers=...) takes a mapping, not {type(headers).__name__}")
        if body is not None and not isinstance(body, bytes):
            raise HookError(f"op.replace(body=...) takes bytes, not {type(body).__name__}")
        named = cast("Mapping[Any, Any]", headers)
        if not all(isinstance(one, str) for pair in named.items() for one in pair):
            raise HookError("op.replace(headers=...) takes strings, by name")
        return Incoming(self.method, self.path, {name.lower(): value for name, value in named.items()}, body)


def read(raw: Raw) -> dict[str, str]:
    """Headers by name; several of one name are joined."""
    headers: dict[str, str] = {}
    for key, value in raw:
        name, text = key.decode("latin-1").lower(), value.decode("latin-1")
        headers[name] = f"{headers[name]}{_JOINED.get(name, ', ')}{text}" if name in headers else text
    return headers


def written(headers: Mapping[str, str], raw: Raw, length: int | None) -> Raw:
    """Headers as they are sent: those that have not changed as they were.

    Args:
        headers: The headers by name.
        raw: What they were.
        length: The length of the body that goes with them, if that is another one.
    """
    before = read(raw)
    kept = [(name, value) for name, value in raw if before[key := name.decode("latin-1").lower()] == headers.get(key)]
    new = [
        (name.lower().encode("latin-1"), value.encode("latin-1"))
        for name, value in headers.items()
        if before.get(name.lower()) != value
    ]
    made = [*kept, *new]
    if length is None:
        return made
    framed = [pair for pair in made if pair[0].decode("latin-1").lower() not in _FRAMING]
    return [*framed, (b"content-length", str(length).encode())]
