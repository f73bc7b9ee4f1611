"""What a change of the active hooks takes away from enforcement, wherever the change comes from."""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from spanhook import semconv
from spanhook.diagnostics import internal, log
from spanhook.gating.binding import WATCH, Bound
from spanhook.gating.conditions import Condition
from spanhook.gating.emitting import emit_event
from spanhook.gating.strictness import loosened_settings
from spanhook.settings import Mode, Settings

Source = Literal["file", "control_plane", "definitions"]
_FILTERS = (("kinds", "kinds"), ("names", "names"), ("models", "models"), ("agents", "agents"))


@dataclass(frozen=True, slots=True)
class Enforcement:
    """What is enforced at a moment.

    Attributes:
        mode: The mode of all hooks.
        bound: The functions of the active hooks, with the limits of the settings applied.
        settings: The settings of the process.
    """

    mode: Mode
    bound: tuple[Bound, ...]
    settings: Settings = field(default_factory=Settings)


def loosened(before: Enforcement, now: Enforcement) -> list[str]:
    """What is enforced less than before; empty if nothing is. Nothing of a call's content is in it.

    Hooks are compared by their id or name: a hook fewer, ``enforce`` to ``shadow`` or ``off``, failing open instead of
    closed, fewer calls that it runs for, and settings of ready-made hooks that let more pass; see ``Looser``. A hook in
    shadow mode enforced nothing.
    """
    changes = list(_settings(before.settings, now.settings))
    if before.mode != "enforce":
        return changes
    if now.mode != "enforce":
        changes.append(f"mode is {now.mode} instead of enforce")
    for hook, becomes in _pairs(before, now):
        if becomes is None:
            changes.append(f"{_named(hook)} is gone")
        else:
            changes += (f"{_named(hook)}: {change}" for change in dict.fromkeys(_changes(hook, becomes)))
    return changes


def report_loosened(source: Source, name: str, before: Enforcement, now: Enforcement) -> None:
    """Report a change that was applied and takes enforcement away, as a warning in the log and as a log event.

    Args:
        source: Where it comes from.
        name: The file, the address of the control plane, or the folder of the definitions.
        before, now: What was enforced, and what is.
    """
    try:
        changes = loosened(before, now)
        if not changes:
            return
        log.warning("spanhook: %s has changed, and less is enforced now: %s", name, "; ".join(changes))
        about = {
            semconv.CONFIG_OUTCOME: "loosened",
            semconv.CONFIG_SOURCE: source,
            semconv.CONFIG_NAME: name if source == "control_plane" else os.path.basename(name),
            semconv.CONFIG_CHANGES: tuple(changes),
        }
        emit_event(semconv.EVENT_CONFIGURATION, about, warning=True)
    except Exception as error:
        internal.report("report.configuration", error, lost=1)


def _settings(before: Settings, now: Settings) -> Iterator[str]:
    """Settings that let more pass, whatever hooks there are."""
    if before.strict and not now.strict:
        yield "strict is false instead of true"
    allowed = sorted(frozenset(now.allow) - frozenset(before.allow))
    if before.strict and now.strict and allowed:
        yield f"allow also has {', '.join(allowed)}"
    if now.trust_baggage and not before.trust_baggage:
        yield "trust_baggage is true instead of false"
    if now.max_request_body > before.max_request_body:
        yield f"max_request_body is {now.max_request_body} instead of {before.max_request_body}"


Functions = Sequence[Bound]
"""The functions of one hook."""


def _hooks(bound: Iterable[Bound]) -> Iterator[Functions]:
    hooks = dict[Any, list[Bound]]()
    for one in bound:
        if one.form != WATCH and one.hook._compared:
            hooks.setdefault(_identity(one), []).append(one)
    return iter(hooks.values())


def _identity(bound: Bound) -> tuple[str, str, int]:
    return _id(bound), bound.tenant_id, _object(bound)


def _object(bound: Bound) -> int:
    """Identifies the hook; the functions of a definition have their statistics in common."""
    return id(getattr(bound.hook, "figures", bound.hook))


def _id(bound: Bound) -> str:
    """The id of a definition's hook; of others, the name."""
    return str(getattr(bound.hook, "hook_id", "")) or bound.name


def _with_tenant(bound: Bound) -> tuple[str, str]:
    return _id(bound), bound.tenant_id


def _name(bound: Bound) -> str:
    return bound.name


def _named(hook: Functions) -> str:
    return f"{hook[0].hook._described} {hook[0].name!r}"


def _pairs(before: Enforcement, now: Enforcement) -> Iterator[tuple[Functions, Functions | None]]:
    """Each hook with what it has become: the same object, or else one with its id and tenant, its id, or its name."""
    hooks = [hook for hook in _hooks(before.bound) if any(one.mode == "enforce" for one in hook)]
    others = list(_hooks(now.bound))
    matches = dict[int, Functions]()
    for key in (_identity, _with_tenant, _id, _name):
        for index, hook in enumerate(hooks):
            same = next((one for one in others if key(one[0]) == key(hook[0])), None)
            if index not in matches and same is not None:
                matches[index] = same
                others.remove(same)
    return ((hook, matches.get(index)) for index, hook in enumerate(hooks))


def _changes(hook: Functions, now: Functions) -> Iterator[str]:
    forms = {one.form: one for one in now}
    for before in hook:
        becomes = forms.get(before.form)
        if becomes is None:
            yield f"no longer runs as {before.form}"
            continue
        if before.mode == "enforce" and becomes.mode != "enforce":
            yield f"mode is {becomes.mode} instead of enforce"
        if before.closed and not becomes.closed:
            yield "fails open instead of closed"
        if becomes.slow and not becomes.closed and _is_shorter(becomes.timeout_ns, before.timeout_ns):
            yield "has less time, and fails open"
        if before.buffers and not (becomes.buffers or becomes.windows):
            yield "no longer holds streams back"
        yield from _narrowed(before, becomes)
    was, becomes = hook[0].hook._made_with, now[0].hook._made_with
    if type(was) is not type(becomes):
        yield "is another kind of hook"
    elif was is not None and was is not becomes and any(one.gate for one in hook):
        yield from loosened_settings(was, becomes)


def _narrowed(before: Bound, now: Bound) -> Iterator[str]:
    """Why a function runs for fewer calls."""
    for attribute, label in _FILTERS:
        lost = _lost(getattr(before, attribute), getattr(now, attribute))
        if lost:
            yield f"{label} no longer has {', '.join(lost)}"
    if now.tenant_id not in ("", before.tenant_id):
        yield f"runs for tenant {now.tenant_id!r} only"
    if now.outermost and not before.outermost:
        yield "runs for outermost operations only"
    if now.when is not None and not _is_same(before.when, now.when):
        yield "runs under a condition only" if before.when is None else "runs under another condition"


def _is_shorter(now: int | None, before: int | None) -> bool:
    return now is not None and (before is None or now < before)


def _lost(before: frozenset[str] | None, now: frozenset[str] | None) -> list[str]:
    """What a filter no longer lets through; ``None`` and ``*`` let everything through."""
    if now is None or "*" in now:
        return []
    if before is None or "*" in before:
        return [f"others than {', '.join(sorted(now))}"]
    return sorted(before - now)


def _is_same(one: Any, other: Any) -> bool:
    if isinstance(one, Condition) and isinstance(other, Condition):
        return one.text == other.text
    return one is other
