"""Answers that arrived but could not be parsed: the call fails, but its usage is still recorded."""

from collections.abc import Callable
from typing import Any

from spanhook.instrument.stainless.options import is_raw, options_of, with_options
from spanhook.model import Args, Kwargs


class Kept:
    """An SDK parser that keeps what it was given."""

    __slots__ = ("given", "parser")

    def __init__(self, parser: Callable[[Any], Any]) -> None:
        self.parser = parser
        self.given: Any = None

    def __call__(self, given: Any) -> Any:
        self.given = given
        return self.parser(given)


def keeping(args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """The arguments of ``parse`` with a parser that keeps the answer; a raw response keeps it itself."""
    parser = options_of(args, kwargs).post_parser
    if not callable(parser) or is_raw(args, kwargs):
        return args, kwargs
    return with_options(args, kwargs, post_parser=Kept(parser))


def unparsed(args: Args, kwargs: Kwargs) -> Any:
    """What the parser was given; ``None`` if the call failed earlier."""
    parser = options_of(args, kwargs).post_parser
    return parser.given if isinstance(parser, Kept) else None
