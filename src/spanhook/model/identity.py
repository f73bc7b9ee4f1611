"""Whose work is being done: tenant, user and session around a piece of code.

Knows nothing of operations or hooks. With ``baggage=True`` the identity also travels to other processes as W3C
baggage (https://www.w3.org/TR/baggage/), in whatever the application already propagates.
"""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, NamedTuple

from opentelemetry import baggage as otel_baggage
from opentelemetry import context as otel_context

from spanhook import semconv
from spanhook.model._clock import clock
from spanhook.model.encoding import encodable, exact_text

_NOTHING: Mapping[str, str | bool | int | float] = MappingProxyType({})
_BAGGAGE_KEYS = {"tenant_id": semconv.TENANT_ID, "user_id": semconv.USER_ID, "session_id": semconv.SESSION_ID}


class Identity(NamedTuple):
    """Who an operation belongs to; an empty string means "not known".

    Attributes:
        tenant_id: The customer, in an application that serves several.
        user_id: The end user.
        session_id: The conversation or thread.
        run_id: The id of the outermost operation: 32 hex digits, or the id the framework gave it.
        agent_id: The name of the nearest enclosing agent.
        attributes: Further attributes given to ``spanhook.context``, written on every span inside.
    """

    tenant_id: str = ""
    user_id: str = ""
    session_id: str = ""
    run_id: str = ""
    agent_id: str = ""
    attributes: Mapping[str, str | bool | int | float] = _NOTHING


NOBODY = Identity()
_new: Callable[[type[Identity], tuple[Any, ...]], Identity] = tuple[Any, ...].__new__
ambient: ContextVar[Identity] = ContextVar("spanhook.identity", default=NOBODY)
"""The identity set by ``context``."""


def identity_of(ambient: Identity, given: Mapping[str, str], around: Identity, agent: str) -> Identity:
    """Who an operation belongs to.

    Args:
        ambient: What ``context`` had set where it began; takes precedence.
        given: Ids known to the library.
        around: The parent operation's identity; ``NOBODY`` for an outermost operation.
        agent: The nearest enclosing agent.
    """
    if around is NOBODY and ambient is NOBODY and not given:
        return _new(Identity, ("", "", "", clock.run_id(), agent, _NOTHING))
    return Identity(
        ambient.tenant_id or around.tenant_id or exact_text(given.get("tenant_id")),
        ambient.user_id or exact_text(given.get("user_id")) or around.user_id,
        ambient.session_id or exact_text(given.get("session_id")) or around.session_id,
        around.run_id or encodable(exact_text(given.get("run_id"))) or clock.run_id(),
        agent,
        ambient.attributes or around.attributes,
    )


_MISTAKEN = {"tenant": "tenant_id", "user": "user_id", "session": "session_id", "thread_id": "session_id"}


@contextmanager
def context(
    *,
    tenant_id: str | None = None,
    user_id: str | None = None,
    session_id: str | None = None,
    baggage: bool = False,
    **attributes: str | bool | float,
) -> Generator[Identity]:
    """Set the identity for the ``with`` block or the decorated function.

    Blocks nest: what an inner block leaves out is inherited from the outer one.

    Args:
        tenant_id, user_id, session_id: Who; ``None`` keeps what is already set.
        baggage: Also put tenant, user and session into the W3C baggage of the current OpenTelemetry context; the
            application's propagators then send them in outgoing headers. Off by default, because headers may leave your
            systems.
        **attributes: Written unchanged on every span inside.

    Raises:
        TypeError: An id is not a string, or an attribute has a misspelled id's name.
    """
    for name in _MISTAKEN.keys() & attributes.keys():
        raise TypeError(f"spanhook.context({name}=...) is unknown; write {_MISTAKEN[name]}=")
    given = {"tenant_id": tenant_id, "user_id": user_id, "session_id": session_id}
    changes = {name: value for name, value in given.items() if value is not None}
    for name, value in changes.items():
        if not isinstance(value, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"spanhook.context({name}=...) takes a string, not {value!r}; convert it with str()")
        changes[name] = exact_text(value)
    before = ambient.get()
    merged = MappingProxyType({**before.attributes, **_exact(attributes)}) if attributes else before.attributes
    inside = before._replace(attributes=merged, **changes)
    token = ambient.set(inside)
    otel_before = otel_context.get_current() if baggage else None
    if otel_before is not None:
        carried = otel_before
        for name, key in _BAGGAGE_KEYS.items():
            if value := getattr(inside, name):
                carried = otel_baggage.set_baggage(key, value, carried)
        otel_context.attach(carried)
    try:
        yield inside
    finally:
        try:
            ambient.reset(token)
        except ValueError:
            pass  # left in another context, which has its own identity
        else:
            if otel_before is not None:
                otel_context.attach(otel_before)


def _exact(attributes: Mapping[str, str | bool | float]) -> dict[str, str | bool | float]:
    return {name: exact_text(value) if isinstance(value, str) else value for name, value in attributes.items()}


def from_baggage(carrier: otel_context.Context) -> Identity:
    """The identity in the baggage of an OpenTelemetry context, for services that trust their callers."""
    entries = otel_baggage.get_all(carrier)
    found: dict[str, Any] = {name: exact_text(entries[key]) for name, key in _BAGGAGE_KEYS.items() if key in entries}
    return Identity(**found) if found else NOBODY
