"""Converts the arguments of a decorated function to names and back; its signature is read once, when it is
decorated.
"""

import inspect
from collections.abc import Callable, Container, Mapping
from inspect import Parameter, Signature
from typing import Any, cast

from spanhook.model import Args, Kwargs

_ANY = Signature([Parameter("args", Parameter.VAR_POSITIONAL), Parameter("kwargs", Parameter.VAR_KEYWORD)])


class Parameters:
    """The parameters of a function.

    Args:
        signature: The function's signature, without the parameter it is bound to.

    Attributes:
        names: The names of all its parameters.
        defaults: Optional parameters with their defaults.
    """

    __slots__ = ("_by_place", "_hidden", "_only_by_place", "_others", "_rest", "defaults", "names")

    def __init__(self, signature: Signature) -> None:
        self._by_place: list[str] = []
        self._only_by_place = 0
        self._rest = self._others = ""
        self.names: list[str] = []
        self.defaults: dict[str, Any] = {}
        for name, one in signature.parameters.items():
            if one.kind is Parameter.VAR_POSITIONAL:
                self._rest = name
                self.defaults[name] = []
            elif one.kind is Parameter.VAR_KEYWORD:
                self._others = name
            else:
                self.names.append(name)
                if one.kind is not Parameter.KEYWORD_ONLY:
                    self._by_place.append(name)
                self._only_by_place += one.kind is Parameter.POSITIONAL_ONLY
                if one.default is not Parameter.empty:
                    self.defaults[name] = one.default
        by_place_alone = (*self._by_place[: self._only_by_place], self._rest)
        self._hidden = frozenset(filter(None, by_place_alone)) if self._others else frozenset[str]()

    def says(self, name: str, among: Container[str]) -> bool:
        """Whether the function takes a parameter ``name``, and it is in ``among``."""
        return name in self.names and name in among

    def arguments(self, args: Args, kwargs: Kwargs) -> dict[str, Any]:
        """A call's arguments by name, defaults included; extra positional arguments are a list.

        Raises:
            ValueError: Two arguments share a name: a positional-only one and one of ``**kwargs``.
        """
        if self._hidden and not self._hidden.isdisjoint(kwargs):
            raise ValueError(f"two arguments have the same name {sorted(self._hidden & kwargs.keys())}; rename one")
        found = dict(zip(self._by_place, args, strict=False))
        if len(args) > len(self._by_place) and self._rest:
            found[self._rest] = list(args[len(self._by_place) :])
        found.update(kwargs)
        for name, value in self.defaults.items():
            if name not in found and (name != self._rest):
                found[name] = value
        return found

    def given(self, args: Args, kwargs: Kwargs) -> dict[str, Any]:
        """A call's arguments by name, without those equal to their defaults."""
        found = self.arguments(args, kwargs)
        return {name: one for name, one in found.items() if not (name in self.defaults and one is self.defaults[name])}

    def call_of(self, arguments: Mapping[str, Any]) -> tuple[Args, Kwargs]:
        """The call with these arguments.

        Raises:
            ValueError: The function has no such parameter, or a required argument is missing.
        """
        known = {*self.names, self._rest}
        unknown = [name for name in arguments if name not in known or not name]
        if unknown and not self._others:
            raise ValueError(f"there is no argument {sorted(map(str, unknown))}; expected names among {self.names}")
        missing = [name for name in self.names if name not in arguments and name not in self.defaults]
        if missing:
            raise ValueError(f"the argument {missing} is missing")
        rest = arguments.get(self._rest) if self._rest else None
        by_place = self._by_place if rest else self._by_place[: self._only_by_place]
        args: list[Any] = []
        for name in by_place:
            if name not in arguments and not rest:
                break
            args.append(arguments[name] if name in arguments else self.defaults[name])
        taken = {*by_place[: len(args)], self._rest}
        return (*args, *(rest or ())), {name: one for name, one in arguments.items() if name not in taken}

    # ------------------------------------------------------------------------------------------- as a whole

    def inputs(self, args: Args, kwargs: Kwargs) -> Any:
        """A call's input as a whole: its only argument, or all arguments by name."""
        found = self.arguments(args, kwargs)
        return found[self.names[0]] if self._is_one and self.names[0] in found else found

    def with_inputs(self, inputs: Any) -> tuple[Args, Kwargs]:
        """The call with this input as a whole.

        Raises:
            ValueError: It takes several arguments, and ``inputs`` is not a mapping of them.
        """
        if self._is_one:
            return self.call_of({self.names[0]: inputs})
        if not isinstance(inputs, Mapping):
            raise ValueError(f"inputs= of a function with the arguments {self.names} must be a mapping by name")
        return self.call_of(cast("Mapping[str, Any]", inputs))

    @property
    def _is_one(self) -> bool:
        return len(self.names) == 1 and not self._rest and not self._others


def parameters_of(function: Callable[..., Any]) -> tuple[Parameters, Parameters]:
    """The parameters of ``function``, and those it has as a bound method."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some C functions have none
        signature = _ANY
    every = list(signature.parameters.values())
    first = every[0] if every else None
    if first is not None and first.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD):
        every = every[1:]
    return Parameters(signature), Parameters(signature.replace(parameters=every))
