"""How calls are read: the part of an adapter for what went into a call and what came out of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from spanhook.model.arguments import Args, Attributes, Kwargs
from spanhook.model.failures import exception_name
from spanhook.model.request import Message, Request
from spanhook.model.usage import Source, Usage


def no_messages(_result: Any) -> list[Message]:
    """The output messages of a call without any."""
    return []


def empty_request(_instance: Any, _args: Args, _kwargs: Kwargs) -> Request:
    """The request of a call whose arguments have no common terms."""
    return Request()


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How a call's request and outcome are read.

    Attributes:
        request: The normalized request; only called when a hook or content capture needs it.
        message: Reads a message that a hook gave in the library's own form, to compare it with the request of the
            rewritten call; ``rewrite`` gets it as it was given.
        output: A result's messages in role/parts form; empty if it is given anything but a result, such as a stream.
        response: End attributes and usage of a result; ``None`` if results report nothing about themselves.
        source: How certain the counts are that it reads: those of a client are in the provider's bytes.
        mark: Returns an id of a result's content, which shows whether another call already produced it.
        names: All names that one call works on, if there may be several; ``None`` if they cannot be known.
        fault: Why a result that was returned is an error, as an ``error.type``; empty if it is none. ``after`` hooks
            decide about such a result as about any other.
        failure: What a failed call reports nevertheless, such as the usage of an answer that could not be parsed.
        error_type: The ``error.type`` of an exception.
        defaults: Defaults of omitted arguments, which the request then contains.
        system_in_messages: The request's ``system`` is also in its messages.
    """

    request: Callable[[Any, Args, Kwargs], Request] = empty_request
    message: Callable[[Any], Message] | None = None
    output: Callable[[Any], list[Message]] = no_messages
    response: Callable[[Any], tuple[Attributes, Usage | None]] | None = None
    source: Source = "framework"
    mark: Callable[[Any], Any] | None = None
    names: Callable[[Any, Args, Kwargs], frozenset[str] | None] | None = None
    fault: Callable[[Any], str] | None = None
    failure: Callable[[Any, Args, Kwargs, BaseException], tuple[Attributes, Usage | None]] | None = None
    error_type: Callable[[BaseException], str] = exception_name
    defaults: Callable[[Any], Mapping[str, Any]] | None = None
    system_in_messages: bool = False


NOTHING_READ = Reading()
"""For calls of which only the start is read."""


@dataclass(frozen=True, kw_only=True)
class CallContext:
    """Whom a call is for, and what else the application told the library of it.

    Attributes:
        identity: Ids the library knows: keys of ``Identity``.
        authenticates: A server authenticated the user among these ids: arguments of calls inside do not say otherwise.
        metadata: Further facts about the call; ``op.extras["metadata"]``.
        config: The configuration for the call; ``op.extras["config"]``.
    """

    identity: Callable[[Any, Args, Kwargs], Mapping[str, str]] | None = None
    authenticates: bool = False
    metadata: Callable[[Any, Args, Kwargs], Mapping[str, Any]] | None = None
    config: Callable[[Any, Args, Kwargs], Mapping[str, Any]] | None = None
