"""The arguments of ``_make_api_call(operation_name, api_params)``, and JSON in bytes among them."""

import json
from collections.abc import Mapping
from typing import Any

from spanhook.instrument.wire import Fields, bytes_of, settled
from spanhook.model import Args, Kwargs

_NOTHING: dict[str, Any] = {}


class JsonBytes(bytes):
    """A body in bytes, with the JSON that it contains, which is parsed once."""

    @property
    def told(self) -> Fields:
        """The JSON; empty if it is not an object."""
        known = self.__dict__.get("_told")
        if known is None:
            try:
                known = json.loads(self)
            except ValueError:
                known = _NOTHING
            self.__dict__["_told"] = known = known if type(known) is dict else _NOTHING
        return known


def operation_of(args: Args, kwargs: Kwargs) -> Any:
    """The name of the operation."""
    return args[0] if args else kwargs.get("operation_name")


def parameters_of(args: Args, kwargs: Kwargs) -> dict[str, Any]:
    """The operation's parameters."""
    return args[1] if len(args) > 1 else kwargs["api_params"]


def with_parameters(args: Args, kwargs: Kwargs, given: Mapping[str, Any]) -> tuple[Args, Kwargs]:
    """The call with other parameters."""
    return ((*args[:1], dict(given), *args[2:]), kwargs) if len(args) > 1 else (args, {**kwargs, "api_params": given})


def settle(given: dict[str, Any]) -> None:
    """Put plain data in place of parameters that are not, so that what hooks read is what is sent."""
    for name, value in given.items():
        if name != "body":
            try:
                given[name] = settled(value)
            except RecursionError:  # it contains itself, and cannot be sent
                return


def settle_body(given: dict[str, Any]) -> Fields:
    """Read a body, which may be a file; returns the JSON in it."""
    body = given.get("body")
    if not isinstance(body, JsonBytes):
        read = bytes_of(body) if hasattr(body, "read") else body
        if isinstance(read, str):
            read = read.encode()
        if not isinstance(read, bytes | bytearray):
            return _NOTHING
        given["body"] = body = JsonBytes(read)
    return body.told
