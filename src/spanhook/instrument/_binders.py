"""How each sort of entry in a library's table is bound."""

from collections.abc import Callable
from functools import partial
from typing import Any

from spanhook.instrument._blocks import driven
from spanhook.instrument._family import Family
from spanhook.instrument._holding import HeldFamily
from spanhook.instrument._outlets import FamilyOnDemand, OnDemand, Telling, held_back, inner_streams
from spanhook.instrument._points import Operations, attempting, load, looked_up
from spanhook.instrument._signals import told
from spanhook.instrument._wrapping import Binding
from spanhook.instrument.bound import BoundFunction
from spanhook.instrument.metaclass import MetaFamily
from spanhook.instrument.receivers import receiving
from spanhook.model import Attempts, Block, Held, InnerStream, Lookup, MetaPoint, Outlet, Point, Receiver, Signal

Entry = Point | Block | Attempts | Lookup | Held | Signal | Outlet | InnerStream | Receiver | BoundFunction
Adapting = OnDemand | Telling | FamilyOnDemand
Made = Binding | Family | MetaFamily | Adapting


def binder(entry: Entry, operations: dict[int, Operations], missing: Callable[[], None]) -> Callable[[Any, str], Made]:
    """The function that binds an entry, given its owner and its name there.

    Args:
        entry: The entry.
        operations: Where what creates operations is put, by the id of the entry.
        missing: Called if the entry cannot be bound in the end.
    """
    if isinstance(entry, BoundFunction):
        return lambda owner, name: Binding(owner, name, entry.make)
    if isinstance(entry, Outlet):
        wanted, hold, is_async = load(entry.wanted), partial(load, entry.hold), entry.is_async
        if entry.around:
            around = load(entry.around)
            return lambda owner, name: Telling(owner, name, wanted, around, hold, is_async=is_async)
        holds = held_back(hold, is_async=is_async)
        if entry.overrides:
            return lambda owner, name: FamilyOnDemand(owner, name, wanted, holds, ())
        return lambda owner, name: OnDemand(owner, name, wanted, holds)
    if isinstance(entry, Block):
        drives = driven(entry)
        if not entry.wanted:
            return lambda owner, name: Binding(owner, name, drives)
        wanted = load(entry.wanted)
        return lambda owner, name: OnDemand(owner, name, wanted, drives)
    if isinstance(entry, InnerStream):
        wanted, inner = load(entry.wanted), inner_streams(partial(load, entry.texts), entry.sends, entry.place)
        return lambda owner, name: FamilyOnDemand(owner, name, wanted, inner, entry.outside)
    if isinstance(entry, Receiver):
        around = partial(load, entry.around) if entry.around else None
        wanted, receives = load(entry.wanted), receiving(partial(load, entry.receipt), around, returns=entry.returns)
        if entry.overrides:
            return lambda owner, name: FamilyOnDemand(owner, name, wanted, receives, ())
        return lambda owner, name: OnDemand(owner, name, wanted, receives)
    if isinstance(entry, Lookup):
        looks = looked_up(entry)
        return lambda owner, name: Family(owner, name, looks)
    if isinstance(entry, Attempts):
        tries = attempting(entry)
        return lambda owner, name: Binding(owner, name, tries)
    if isinstance(entry, Signal):
        tells = told(entry)
        return lambda owner, name: Binding(owner, name, tells, plain=isinstance(owner, type))
    make = operations[id(entry)] = Operations(entry, missing)
    if isinstance(entry, Held):
        return lambda owner, name: HeldFamily(owner, name, make)
    if isinstance(entry, MetaPoint):
        picks = load(entry.picks)
        return lambda owner, name: MetaFamily(owner, name, make, picks)
    if entry.wanted:
        wanted = load(entry.wanted)
        return lambda owner, name: OnDemand(owner, name, wanted, make)
    if entry.overrides:
        return lambda owner, name: Family(owner, name, make, entry.outside)
    return lambda owner, name: Binding(owner, name, make)
