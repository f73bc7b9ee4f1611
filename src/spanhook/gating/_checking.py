"""Checks the settings of hooks.

A mistake would silently widen a hook, or narrow it to nothing. So each is refused at registration, in one line that
says what was given and what to write instead. This module does not know how hooks run.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, cast

from spanhook import semconv
from spanhook.errors import ConfigurationError
from spanhook.gating._checking_window import check_window
from spanhook.gating.hook import UNSET, FunctionHook, Hook, HookSettings, StreamMode, once
from spanhook.model import ALIASES, HookMode, Operation, encodable, exact_text, kinds

TIMEOUT, RUN_TIMEOUT = 0.2, 10.0
LONGEST = 365 * 24 * 3600
"""Seconds; longer waits have no limit. Locks of CPython and event loops fail on much larger numbers."""

_METHODS = ("before", "around", "after", "on_error", "when")
_ONES_OWN = ("model", "agent", "kind")
_KINDS_GO_FIRST = frozenset(("kind", "kinds", "event", "events"))
_ALSO_CALLED = {
    "buffer": "stream",
    "tool": "names",
    "tools": "names",
    "tenant": "tenant_id",
    "condition": "when",
    "filter": "when",
}


@dataclass(frozen=True, slots=True)
class Checked:
    """The settings of a hook, read once; ``Bound`` has them under the same names."""

    name: str
    kinds: frozenset[str]
    names: frozenset[str] | None
    models: frozenset[str] | None
    agents: frozenset[str] | None
    tenant_id: str
    when: Callable[[Operation], bool] | None
    timeout_ns: int | None
    blocking: bool
    stream: StreamMode | None
    outermost: bool
    mode: HookMode


def checked(hook: Hook) -> Checked:
    """Read the settings of a hook.

    Raises:
        ConfigurationError: One of them cannot be used.
    """
    given: Any = hook.name
    if not isinstance(given, str):
        meant = f"; did you mean names={given!r}?" if isinstance(given, Iterable) else ""
        own = hook.function if isinstance(hook, FunctionHook) else type(hook)
        raise ConfigurationError(
            f"hook {getattr(own, '__name__', type(own).__name__)!r}: name={given!r}, "
            f"expected a string to call the hook by{meant}"
        )
    name = encodable(exact_text(hook.name) or type(hook).__name__)
    if not isinstance(hook, FunctionHook):
        _check_spelling(hook)
    if hook.fail_mode not in (None, "open", "closed"):
        raise ConfigurationError(f"hook {name!r}: fail_mode={hook.fail_mode!r}, expected 'open' or 'closed'")
    for label in ("blocking", "body", "outermost"):
        if not isinstance(getattr(hook, label), bool):
            raise ConfigurationError(f"hook {name!r}: {label}={getattr(hook, label)!r}, expected True or False")
    if hook.stream not in (None, "buffer", "window", "observe"):
        raise ConfigurationError(f"hook {name!r}: stream={hook.stream!r}, expected 'buffer', 'window' or 'observe'")
    check_window(name, hook)
    if hook.mode not in ("enforce", "shadow"):
        raise ConfigurationError(f"hook {name!r}: mode={hook.mode!r}, expected 'enforce' or 'shadow'")
    kinds = _kinds(name, _kept(hook, "kinds"))
    names, models, agents = (_filter(name, label, _kept(hook, label)) for label in ("names", "models", "agents"))
    if not isinstance(hook.tenant_id, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigurationError(f"hook {name!r}: tenant_id={hook.tenant_id!r}, expected a string, or '' for all")
    return Checked(
        name,
        kinds,
        names,
        models,
        agents,
        exact_text(hook.tenant_id),
        _when(name, hook.when),
        _timeout(name, hook.timeout, kinds),
        hook.blocking,
        hook.stream,
        hook.outermost,
        hook.mode,
    )


def kept(settings: Mapping[str, Any]) -> HookSettings:
    """Settings of which iterators have become tuples, so that a decorator may be used twice.

    Raises:
        ConfigurationError: A setting of this name does not exist.
    """
    for setting, value in settings.items():
        if setting in HookSettings.__annotations__:
            continue
        known = ", ".join(HookSettings.__annotations__)
        if setting in _KINDS_GO_FIRST:
            raise ConfigurationError(
                f"unknown hook setting {setting}={value!r}; kinds and events are not named: write "
                "@hooks.before('tool.execute', ...) or @hooks.on('agent.invoke.post', ...)"
            )
        raise ConfigurationError(
            f"unknown hook setting {setting}={value!r}{hint(setting, _settings())}; expected one of {known}"
        )
    return cast("HookSettings", {setting: once(value) for setting, value in settings.items()})


def check_signature(name: str, function: Callable[..., Any], expected: tuple[str, ...], *, setting: str = "") -> None:
    """Refuse a function that cannot be called as it will be."""
    wanted = f"({', '.join(expected)})"
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*expected)
    except TypeError:
        taken = f"hook {name!r}: {setting} takes {signature}" if setting else f"hook {name!r} takes {signature}"
        raise ConfigurationError(f"{taken}; it is called with {wanted}") from None


def wait_limit(timeout: Any) -> float:
    """The most seconds to wait for something; ``None`` means as long as possible.

    Raises:
        ConfigurationError: It is not a number of seconds.
    """
    if timeout is None:
        return LONGEST
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 <= timeout <= LONGEST:
        raise ConfigurationError(f"timeout={timeout!r}, expected seconds from 0 to {LONGEST}, or None for no limit")
    return float(timeout)


# ------------------------------------------------------------------------------------------------- settings


def _settings() -> set[str]:
    return {"kinds", *HookSettings.__annotations__}


def hint(given: Any, known: Iterable[str]) -> str:
    """`` (did you mean ...?)`` if a known name is similar."""
    if not isinstance(given, str):
        return ""
    close = [_ALSO_CALLED[given]] if given in _ALSO_CALLED else get_close_matches(given.lower(), sorted(known), 1, 0.7)
    return f" (did you mean {close[0]!r}?)" if close else ""


def _kept(hook: Hook, label: str) -> Any:
    """A setting of a hook. What an iterator gives is kept there, since the hook may be registered again."""
    value = getattr(hook, label)
    if isinstance(value, Iterator):
        value = once(value)
        with suppress(AttributeError):  # a property, say, which makes another
            object.__setattr__(hook, label, value)
    return value


def _kinds(name: str, given: Any) -> frozenset[str]:
    found = (given,) if isinstance(given, str) else _items(given)
    if found is None:
        raise ConfigurationError(f"hook {name!r}: kinds={given!r}, expected kinds such as ('tool.execute',)")
    for kind in found:
        if not isinstance(kind, str):
            raise ConfigurationError(
                f"hook {name!r}: {kind!r} is not a kind; give each kind as a separate string, "
                "such as @hooks.before('tool.execute', 'llm.call')"
            )
        if kind != "*" and kind not in kinds():
            start, _, phase = kind.rpartition(".")
            if kind in ALIASES:
                start = ALIASES[kind].kind
            is_event = kind in ALIASES or (phase in semconv.PHASES and start in kinds())
            instead = f" (an event; write {start!r})" if is_event else hint(kind, kinds())
            raise ConfigurationError(
                f"hook {name!r}: unknown kind {kind!r}{instead}; expected '*' or one of {', '.join(kinds())}; "
                "a kind of your own is registered before, with spanhook.register_kind()"
            )
    if not found:
        raise ConfigurationError(
            f"hook {name!r}: kinds={given!r} is empty (an iterator may have been used up), "
            "so it would never run; write ('*',) for all"
        )
    return frozenset(map(exact_text, found))


def _filter(name: str, label: str, given: Any) -> frozenset[str] | None:
    if given is None:
        return None
    items = None if isinstance(given, str | bytes | bytearray) else _items(given)
    if items is None or not all(isinstance(one, str) for one in items):
        wanted = f"{{{given!r}}}" if isinstance(given, str) else "{'search'}"
        raise ConfigurationError(f"hook {name!r}: {label}={given!r}, expected a set of strings such as {wanted}")
    if not items:
        raise ConfigurationError(
            f"hook {name!r}: {label}={given!r} is empty (an iterator may have been used up), so it would never run; "
            f"leave {label} out for all"
        )
    return frozenset(map(exact_text, items))


def _items(given: Any) -> tuple[Any, ...] | None:
    """The items of a set, list, view or iterator; ``None`` if it is none of these."""
    return tuple(cast("Iterable[Any]", given)) if isinstance(given, Iterable) else None


def _when(name: str, given: Any) -> Callable[[Operation], bool] | None:
    if given is None:
        return None
    if not callable(given):
        raise ConfigurationError(f"hook {name!r}: when={given!r}, expected a function of the operation")
    function: Any = given
    target: Any = function if inspect.isroutine(function) else getattr(function, "__call__", function)  # noqa: B004
    if inspect.iscoroutinefunction(target) or inspect.isgeneratorfunction(target) or inspect.isasyncgenfunction(target):
        raise ConfigurationError(
            f"hook {name!r}: when={given!r} is async or a generator, so its return value always counts as true; "
            "expected a plain function of the operation"
        )
    check_signature(name, function, ("op",), setting="when")
    return function


def _timeout(name: str, given: Any, kinds: frozenset[str]) -> int | None:
    """Nanoseconds of a hook's timeout."""
    if given is UNSET:
        given = RUN_TIMEOUT if kinds == frozenset(("run",)) else TIMEOUT
    return time_limit(f"hook {name!r}", given)


def time_limit(who: str, given: Any) -> int | None:
    """Nanoseconds of ``who``'s timeout in seconds; ``None`` for no limit.

    Raises:
        ConfigurationError: It is not a number of seconds.
    """
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given <= LONGEST:
        raise ConfigurationError(
            f"{who}: timeout={given!r}, expected seconds above 0, up to {LONGEST} (a year), or None for no limit"
        )
    return max(1, int(given * 1e9))


def _check_spelling(hook: Hook) -> None:
    """Refuse misspelt settings and methods of ``Hook``: the hook would be wider than intended."""
    for cls in type(hook).__mro__:
        if cls is Hook:
            break
        for name, value in vars(cls).items():
            if not isinstance(value, type):
                _check_name(cls, name, is_method=callable(value))
    for name, value in getattr(hook, "__dict__", {}).items():
        # Attributes set by a constructor: a judge's `model` is not a misspelt filter, but a set of models is.
        if not callable(value) and (name not in _ONES_OWN or isinstance(value, set | frozenset | list | tuple)):
            _check_name(type(hook), name, is_method=False)


def _check_name(cls: type, name: str, *, is_method: bool) -> None:
    if name.startswith("_") or hasattr(Hook, name):
        return
    for meant in get_close_matches(name, _METHODS if is_method else _settings(), 1, 0.8 if is_method else 0.75):
        what = "method" if is_method else "setting"
        raise ConfigurationError(
            f"hook {cls.__qualname__}: {name!r} is not a {what} of a hook; did you mean {meant!r}? "
            "(If it is your own, give it another name.)"
        )
