"""Answers that arrived but could not be parsed: the call fails, but its usage is still recorded."""

from collections.abc import Callable
from typing import Any

from spanhook.instrument.stainless.options import is_raw, options_of, with_options
from spanhook.model import Args, Attributes, Kwargs, Usage


class Kept:
    """An SDK parser that keeps what it was given."""

    __slots__ = ("given", "parser")

    def __init__(self, parser: Callable[[Any], Any]) -> None:
        self.parser = parser
        self.given: Any = None

    def __call__(self, given: Any) -> Any:
        self.given = given
        return self.parser(given)


def keep_what_is_parsed(_instance: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """The arguments of ``parse`` with a parser that keeps the answer; a raw response keeps it itself."""
    parser = options_of(args, kwargs).post_parser
    if not callable(parser) or is_raw(args, kwargs):
        return args, kwargs
    return with_options(args, kwargs, post_parser=Kept(parser))


def parsing_failed(
    response: Callable[[Any], tuple[Attributes, Usage | None]],
) -> Callable[[Any, Args, Kwargs, BaseException], tuple[Attributes, Usage | None]]:
    """Read with ``response`` what could not be parsed; nothing if the call failed earlier."""

    def failure(_instance: Any, args: Args, kwargs: Kwargs, _error: BaseException) -> tuple[Attributes, Usage | None]:
        parser = options_of(args, kwargs).post_parser
        given = parser.given if isinstance(parser, Kept) else None
        return response(given) if given is not None else ({}, None)

    return failure
