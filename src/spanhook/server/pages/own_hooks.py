"""Hooks of the code and the files of processes: those that are alike stand once, with all their processes."""

from collections.abc import Iterable
from dataclasses import dataclass

from spanhook.server.routes.sync_models import Process


@dataclass(frozen=True, slots=True)
class OwnHook:
    """A hook that is registered in processes.

    Attributes:
        name, kinds, priority, mode: The hook.
        service, tenant_id: Whose processes they are.
        places: The host and the id of each.
    """

    name: str
    kinds: tuple[str, ...]
    priority: int
    mode: str
    service: str
    tenant_id: str
    places: tuple[str, ...]


def own_hooks(processes: Iterable[Process]) -> list[OwnHook]:
    """The hooks of processes, by service and in the order in which they run."""
    found = dict[tuple[str, str, int, str, str, tuple[str, ...]], list[str]]()
    for process in processes:
        for hook in process.hooks:
            key = (process.service, process.tenant_id, hook.priority, hook.name, hook.mode, tuple(hook.kinds))
            found.setdefault(key, []).append(f"{process.host or 'unknown host'}:{process.pid}")
    return [
        OwnHook(name, kinds, priority, mode, service, tenant, tuple(places))
        for (service, tenant, priority, name, mode, kinds), places in sorted(found.items())
    ]
