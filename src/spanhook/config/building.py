"""Hooks from the policies of a configuration file. All mistakes are found, not only the first."""

import functools
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from spanhook.config.complaints import complaints
from spanhook.config.models import Policy
from spanhook.config.reading import Document, Keys
from spanhook.config.stores import Stores
from spanhook.errors import ConfigurationError, Mistake
from spanhook.gating import Hook, Hooks, compile_condition, find, handler_of, make, parse_event, set_up
from spanhook.semconv import PHASES

_TOOLS = "tool.execute"
_PATTERN = re.compile(r"[*?]")
_PHASES = {"before": ("pre",), "after": ("post",), "on_error": ("error",), "around": ("pre", "post", "error")}


@dataclass(frozen=True, slots=True)
class Built:
    """A policy and its hook."""

    policy: Policy
    hook: Hook
    store: str = ""
    """The address of its store, if it has one."""


class Builder:
    """Creates the hooks of policies.

    Args:
        document: The file.
        before: The policies that are active. A policy that did not change keeps its hook, and so what the hook has
            counted.
        in_memory: Give hooks a store of their own in memory, whatever store the file names.

    Attributes:
        mistakes: The mistakes in the policies.
    """

    def __init__(self, document: Document, before: Sequence[Built] = (), *, in_memory: bool = False) -> None:
        self._document = document
        self._before = {built.policy.id: built for built in before}
        self._ids: dict[str, Keys] = {}
        self._find = functools.cache(find)  # it asks every installed distribution
        self._stores = Stores(document, in_memory=in_memory)
        self.mistakes: list[Mistake] = self._stores.mistakes

    def build(self, policy: Policy, keys: Keys) -> Built | None:
        """The hook of a policy; ``None`` if it has a mistake."""
        count = len(self.mistakes)
        other = self._ids.setdefault(policy.id, keys)
        if other != keys:
            line = self._document.line((*other, "id"))
            self._complain((*keys, "id"), f"the policy in line {line} is {policy.id!r} too; ids must be unique")
        try:
            cls = self._find(policy.use)
        except (ConfigurationError, SystemExit) as error:
            self._complain((*keys, "use"), _said(error))
            self._settings(policy, keys, None)
            return None
        with_ = self._with(policy, keys, cls)
        store = str(with_.get("store", ""))
        known = self._before.get(policy.id)
        if (
            known is not None
            and other == keys
            and _definition(known.policy) == _definition(policy)
            and known.store == store
        ):
            return known
        hook = self._made(with_, keys, cls)
        if hook is not None:
            hook._described = "policy"
        settings = self._settings(policy, keys, cls if hook is None else hook)
        if hook is None:
            return None
        try:
            Hooks(set_up(hook, **settings))
        except ConfigurationError as error:
            self._complain(keys, _said(error))
        return Built(policy, hook, store) if len(self.mistakes) == count else None

    def _with(self, policy: Policy, keys: Keys, cls: type[Any]) -> dict[str, Any]:
        """The hook's own settings, with the address of its store."""
        marked = handler_of(cls)
        try:
            return self._stores.given_to(policy.with_, None if marked is None else marked.config)
        except ConfigurationError as error:
            self._complain((*keys, "with", "store"), _said(error))
            return policy.with_

    def _made(self, with_: dict[str, Any], keys: Keys, cls: type[Any]) -> Hook | None:
        try:
            return make(cls, with_)
        except (ConfigurationError, SystemExit) as error:
            marked = handler_of(cls)
            cause = error.__cause__
            if isinstance(cause, ValidationError) and marked is not None and marked.config is not None:
                self.mistakes += complaints(self._document, cause, marked.config, (*keys, "with"))
            else:
                self._complain((*keys, "with"), _said(error))
            return None

    def _settings(self, policy: Policy, keys: Keys, hook: Hook | type[Any] | None) -> dict[str, Any]:
        """Those of the settings that every hook has which are given; ``hook`` is ``None`` if it is not known."""
        given: dict[str, Any] = {"name": policy.id}
        for name in ("mode", "priority", "fail_mode", "timeout", "tenant_id"):
            value = getattr(policy, name)
            if value is not None:
                given[name] = value
        for name, setting in (("tools", "names"), ("models", "models"), ("agents", "agents")):
            names = getattr(policy, name)
            if names is not None:
                given[setting] = frozenset(names)
                self._check_names(names, (*keys, name))
        kinds = self._kinds(policy, keys, hook)
        if kinds is not None:
            given["kinds"] = kinds
        if policy.when is not None:
            try:
                given["when"] = compile_condition(policy.when)
            except ConfigurationError as error:
                self._complain((*keys, "when"), _said(error))
        return given

    def _check_names(self, names: Sequence[str], keys: Keys) -> None:
        for index, name in enumerate(names):
            if _PATTERN.search(name):
                message = f"{name!r} looks like a pattern, but names must match exactly; list them, or use when"
                self._complain((*keys, index), message)

    def _kinds(self, policy: Policy, keys: Keys, hook: Hook | type[Any] | None) -> frozenset[str] | None:
        """The kinds that ``events`` and ``tools`` limit the hook to; ``None`` if neither is given."""
        kinds_of_hook: Any = getattr(hook, "kinds", "*")
        own = frozenset[str]([kinds_of_hook] if isinstance(kinds_of_hook, str) else kinds_of_hook)
        if policy.events is None:
            if policy.tools is None:
                return None
            if not own & {"*", _TOOLS}:
                self._complain((*keys, "tools"), f"{policy.use} does not run on tools; remove it")
            return frozenset((_TOOLS,))
        kinds = set[str]()
        for index, event in enumerate(policy.events):
            found, messages = _fit(policy, hook, own, event)
            kinds.update(found)
            for message in messages:
                self._complain((*keys, "events", index), message)
        if policy.tools is not None and kinds != {_TOOLS}:
            self._complain((*keys, "tools"), f"tools needs events of {_TOOLS} only")
        return frozenset(kinds)

    def _complain(self, keys: Keys, message: str) -> None:
        self.mistakes.append(self._document.mistake(keys, message))


def _fit(
    policy: Policy, hook: Hook | type[Any] | None, own: frozenset[str], event: str
) -> tuple[tuple[str, ...], list[str]]:
    """The kinds that an event stands for, and why the hook cannot be limited to it."""
    try:
        topic = parse_event(event, "trace")
    except ConfigurationError as error:
        return (), [_said(error)]
    kinds, phases = topic.kinds, frozenset[str](topic.phases)
    if topic.alias is not None:
        return kinds, [f"{event!r} is a short name, which only subscriptions take; write {kinds[0]!r}"]
    if "*" not in own and not own.issuperset(kinds):
        return kinds, [f"{policy.use} runs on {', '.join(sorted(own))} only, not on {kinds[0]}; remove it"]
    if hook is None:
        return kinds, []
    cls = hook if isinstance(hook, type) else type(hook)
    methods = [name for name in _PHASES if getattr(cls, name, None) is not getattr(Hook, name)]
    runs = frozenset[str](phase for name in methods for phase in _PHASES[name])
    if phases not in (frozenset(PHASES), runs):
        return kinds, [f"{policy.use} runs at {_at(runs)} and cannot be limited to {_at(phases)}; write {kinds[0]!r}"]
    return kinds, []


def _at(phases: frozenset[str]) -> str:
    return " and ".join(f".{phase}" for phase in PHASES if phase in phases)


def _definition(policy: Policy) -> str:
    """Everything that a policy says, as text: ``1``, ``1.0`` and ``true`` are equal otherwise."""
    return json.dumps(policy.model_dump(mode="json"), sort_keys=True)


def _said(error: ConfigurationError | SystemExit) -> str:
    """The message, without a line of Python in it."""
    if isinstance(error, SystemExit):
        return f"it exits when it is imported or created: {error!r}"
    return str(error).removesuffix(f" ({error.place})")
