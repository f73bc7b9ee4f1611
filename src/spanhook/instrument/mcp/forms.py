"""How the fields of a request are given: as arguments of a method, as a model, or as they came over the wire."""

from collections.abc import Mapping
from typing import Any, Protocol

from spanhook.model import Args, Kwargs


class Form(Protocol):
    """Reads and writes the fields of a request: ``name`` and ``arguments``, or ``uri``."""

    def get(self, args: Args, kwargs: Kwargs, field: str) -> Any: ...

    def put(self, args: Args, kwargs: Kwargs, field: str, value: Any) -> tuple[Args, Kwargs]: ...


class Named:
    """Arguments of a client's method, such as ``call_tool(name, arguments)``.

    Args:
        positions: Where each field is, if it is given by position.
    """

    def __init__(self, **positions: int) -> None:
        self._positions = positions

    def get(self, args: Args, kwargs: Kwargs, field: str) -> Any:
        at = self._positions[field]
        return args[at] if len(args) > at else kwargs.get(field)

    def put(self, args: Args, kwargs: Kwargs, field: str, value: Any) -> tuple[Args, Kwargs]:
        at = self._positions[field]
        if len(args) > at:
            return (*args[:at], value, *args[at + 1 :]), kwargs
        return args, {**kwargs, field: value}


class Modelled:
    """A model of the whole request, the first argument; version 1 wraps the models that clients send in another one.

    Args:
        name: The argument's name.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def request(self, args: Args, kwargs: Kwargs) -> Any:
        """The request itself."""
        given = args[0] if args else kwargs[self._name]
        return getattr(given, "root", given)

    def with_params(self, args: Args, kwargs: Kwargs, changes: Mapping[str, Any]) -> tuple[Args, Kwargs]:
        """The arguments with a copy of the request, in which some fields of its ``params`` are changed."""
        given = args[0] if args else kwargs[self._name]
        root = self.request(args, kwargs)
        changed = root.model_copy(update={"params": root.params.model_copy(update=dict(changes))})
        if root is not given:
            changed = given.model_copy(update={"root": changed})
        return ((changed, *args[1:]), kwargs) if args else (args, {**kwargs, self._name: changed})

    def get(self, args: Args, kwargs: Kwargs, field: str) -> Any:
        return getattr(self.request(args, kwargs).params, field, None)

    def put(self, args: Args, kwargs: Kwargs, field: str, value: Any) -> tuple[Args, Kwargs]:
        if field == "uri":  # an address of its own type in version 1
            value = type(self.get(args, kwargs, field))(value)
        return self.with_params(args, kwargs, {field: value})

    def meta(self, args: Args, kwargs: Kwargs) -> Mapping[str, Any]:
        """What came with the request in ``_meta``."""
        found = getattr(self.request(args, kwargs).params, "meta", None)
        return found if isinstance(found, Mapping) else getattr(found, "model_extra", None) or {}


class Wire:
    """A method's name and its ``params`` as they came in, the second and third argument."""

    @staticmethod
    def params(args: Args, kwargs: Kwargs) -> Mapping[str, Any]:
        """The fields."""
        return (args[2] if len(args) > 2 else kwargs.get("params")) or {}

    @staticmethod
    def with_params(args: Args, kwargs: Kwargs, params: Mapping[str, Any]) -> tuple[Args, Kwargs]:
        """The arguments with other fields."""
        return ((*args[:2], params, *args[3:]), kwargs) if len(args) > 2 else (args, {**kwargs, "params": params})

    def get(self, args: Args, kwargs: Kwargs, field: str) -> Any:
        return self.params(args, kwargs).get(field)

    def put(self, args: Args, kwargs: Kwargs, field: str, value: Any) -> tuple[Args, Kwargs]:
        return self.with_params(args, kwargs, {**self.params(args, kwargs), field: value})

    def meta(self, args: Args, kwargs: Kwargs) -> Mapping[str, Any]:
        """What came with the request in ``_meta``."""
        found = self.params(args, kwargs).get("_meta")
        return found if isinstance(found, Mapping) else {}


TOOL_CALL = Named(name=0, arguments=1)
PROMPT_CALL = Named(name=0, arguments=1)
RESOURCE_CALL = Named(uri=0)
SENT = Modelled("request")
HANDLED = Modelled("req")
WIRE = Wire()
