"""Makes hooks of a set, and activates them in place of those of the set before: all of them or none."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from pydantic import ValidationError

from spanhook.config import SHARED_SETTINGS, Follower, built_policies
from spanhook.control_plane.sets import HookSet
from spanhook.definitions import HookDefinition, HookRegistry
from spanhook.errors import ConfigurationError, Reject
from spanhook.gating import Bound, Hook, Hooks, Limits
from spanhook.model import Operation
from spanhook.telemetry import telemetry

GATE = "spanhook.control_plane"
"""The name of the hook that refuses everything until there is a set."""


@dataclass(frozen=True, slots=True)
class Applied:
    """What is in force because of a set, or because there has been none.

    Attributes:
        hooks: The registries.
        set: The set; ``None`` before the first one.
        definitions: The hooks of its definitions.
        policies: The policies with their hooks, by tenant; what ``config.built_policies`` gives.
        missing: Why definitions and policies of it are not in force here, by their ids.
    """

    hooks: tuple[Hooks, ...]
    set: HookSet | None = None
    definitions: HookRegistry | None = None
    policies: Mapping[str, tuple[Any, ...]] = field(default_factory=dict[str, "tuple[Any, ...]"])
    missing: Mapping[str, str] = field(default_factory=dict[str, str])


class Applier:
    """Activates sets.

    Args:
        follower: What follows the configuration file of the process. It has the stores, and applies settings.
    """

    def __init__(self, follower: Follower) -> None:
        self._follower = follower
        self._trying: tuple[Hooks, ...] = ()
        """What is being activated right now; a fork may find it half done."""
        self.now = Applied(())

    @property
    def is_half_done(self) -> bool:
        """Whether a set was being activated, in a child that was forked meanwhile."""
        return bool(self._trying)

    def begin(self, fail_mode: Literal["closed", "open"]) -> None:
        """Activate what holds until there is a set."""
        gate = Hooks()
        if fail_mode == "closed":
            gate.before("*", name=GATE, priority=0)(_refuse)
        for hook in gate:
            hook._compared = False  # the first set takes its place
        self._activate(Applied((gate,)), {})

    def apply(self, given: HookSet) -> Applied:
        """Activate a set.

        Definitions and policies that cannot be used here are left out, and are in ``missing``.

        Raises:
            ConfigurationError: The set cannot be used. Nothing has changed.
            RequirementError: As ``spanhook.instrument``.
        """
        foreign = given.settings.keys() - SHARED_SETTINGS - {"mode"}
        if foreign:
            raise ConfigurationError(f"it has settings that a control plane may not make: {', '.join(sorted(foreign))}")
        before, missing = self.now, dict[str, str]()
        registry = HookRegistry(max_per_event=sys.maxsize)  # limits are checked below, and when it is activated
        missing.update(registry.adopt(_definitions(given, missing), before.definitions))
        policies = dict[str, tuple[Any, ...]]()
        for group in given.policies:
            tenant, listed = _group(group)
            built, unusable = built_policies(self._follower.file, listed, before.policies.get(tenant, ()))
            policies[tenant] = built
            missing.update({_named(tenant, one): why for one, why in unusable.items()})
        for _, _, several in _of_tenants(registry, policies):
            for hook in several:
                hook._last = True  # what a tenant has added decides behind what is for all tenants
        beyond = _beyond_limits(_of_tenants(registry, policies))
        missing.update(beyond)
        for name in beyond:
            registry.deregister(name)
        policies = {
            tenant: tuple(one for one in built if _named(tenant, one.policy.id) not in beyond)
            for tenant, built in policies.items()
        }
        hooks = [registry.hooks, *(Hooks(*(one.hook for one in built)) for built in policies.values())]
        self._activate(Applied(tuple(hooks), given, registry, policies, missing), given.settings)
        return self.now

    def _activate(self, applied: Applied, settings: Mapping[str, Any]) -> None:
        out = (*self.now.hooks, *self._trying)
        self._trying = applied.hooks
        try:
            self._follower.join(out, applied.hooks, settings)
            self.now = applied
        finally:
            self._trying = ()


def _definitions(given: HookSet, missing: dict[str, str]) -> list[HookDefinition]:
    found = list[HookDefinition]()
    for index, fields in enumerate(given.definitions):
        try:
            found.append(HookDefinition.model_validate(fields))
        except ValidationError as error:
            name = cast("dict[str, Any]", fields).get("hook_id") if isinstance(fields, dict) else None
            keys = sorted({str(one["loc"][0]) if one["loc"] else "it" for one in error.errors(include_input=False)})
            missing[str(name or f"definitions[{index}]")] = f"{', '.join(keys)} cannot be used here"
    return found


def _group(group: Any) -> tuple[str, list[Any]]:
    known = cast("dict[str, Any]", group) if isinstance(group, dict) else {}
    return str(known.get("tenant_id", "")), list(known.get("policies") or ())


def _of_tenants(
    registry: HookRegistry, policies: Mapping[str, tuple[Any, ...]]
) -> Iterator[tuple[str, str, Sequence[Hook]]]:
    """The definitions and policies of tenants: the tenant, what ``missing`` calls it, and its hooks."""
    for one in registry.registered():
        if one.tenant_id:
            yield one.tenant_id, one.hook_id, one.functions
    for tenant, built in policies.items():
        if tenant:
            yield from ((tenant, _named(tenant, one.policy.id), (one.hook,)) for one in built)


def _beyond_limits(added: Iterable[tuple[str, str, Sequence[Hook]]]) -> dict[str, str]:
    """What a tenant has more than one event may have, and why that is left out.

    With it, the set could not be activated, and what is for all tenants would not be either.
    """
    limits = Limits(max_per_event=telemetry.settings.max_per_event)
    kept, beyond = dict[str, list[Bound]](), dict[str, str]()
    for tenant, name, several in added:
        known, bound = kept.setdefault(tenant, []), Hooks(*several).bound
        try:
            limits.check([*known, *bound])
        except ConfigurationError as error:
            beyond[name] = str(error)
        else:
            known += bound
    return beyond


def _named(tenant: str, policy: str) -> str:
    return f"policy {policy}" + (f" of {tenant}" if tenant else "")


def _refuse(op: Operation) -> None:
    raise Reject(
        f"{op.kind} {op.name!r}: the control plane has not said yet which hooks apply, and nothing is kept",
        status_code=503,
    )
