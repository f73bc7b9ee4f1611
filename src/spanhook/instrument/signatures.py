"""The arguments of a library's functions: reads and replaces them, however they were passed."""

from typing import Any

from spanhook.model import Args, Kwargs


class Signature:
    """The parameters of a function that may be passed by position.

    Args:
        names: Their names, in order.
    """

    __slots__ = ("_places",)

    def __init__(self, *names: str) -> None:
        self._places = {name: place for place, name in enumerate(names)}

    def given(self, args: Args, kwargs: Kwargs, name: str) -> Any:
        """One argument; ``None`` if it was not passed."""
        place = self._places.get(name, len(args))
        return args[place] if place < len(args) else kwargs.get(name)

    def having(self, args: Args, kwargs: Kwargs, /, **changes: Any) -> tuple[Args, Kwargs]:
        """The arguments with some of them replaced."""
        by_place, by_name = list(args), dict(kwargs)
        for name, value in changes.items():
            place = self._places.get(name, len(args))
            if place < len(args):
                by_place[place] = value
            else:
                by_name[name] = value
        return tuple(by_place), by_name
