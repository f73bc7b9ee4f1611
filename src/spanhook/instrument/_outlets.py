"""Functions that are wrapped only while needed, such as those through which results leave early."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, cast

from spanhook.diagnostics import internal
from spanhook.engine import inner_stream, registry
from spanhook.gating import Registry
from spanhook.instrument._family import Family
from spanhook.instrument._points import Make
from spanhook.instrument._wrapping import Binding, Wrapper
from spanhook.model import Deferred, Record, Texts, current, current_record, shed

Wanted = Callable[[Registry], bool]
Around = Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]
Hold = Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], bool]


class OnDemand:
    """A binding that exists only while hooks or settings need it.

    Args:
        wanted: Whether it is needed.
        make: Makes the wrapper.
    """

    def __init__(self, owner: Any, attribute: str, wanted: Wanted, make: Make) -> None:
        self._owner, self._attribute, self._wanted, self._make = owner, attribute, wanted, make
        self._binding: Binding | None = None

    def adapt(self) -> None:
        """Add or remove the wrapper, as the active hooks require."""
        wanted = self._wanted(registry)
        if self._binding is None:
            self._binding = self._standing()  # an interrupt may have come before this was recorded
        if wanted and self._binding is None:
            self._binding = Binding(self._owner, self._attribute, self._make)
        elif not wanted:
            self.restore()

    @property
    def bound(self) -> Binding | None:
        """What is bound now."""
        return self._binding or self._standing()

    def _standing(self) -> Binding | None:
        """The binding whose wrapper is in place, if it is ours."""
        there = cast("Mapping[str, Any]", vars(self._owner))
        found: Any = there.get(self._attribute)
        if not issubclass(type(found), Wrapper):
            return None
        return found._self_point if found._self_point.is_made_by(self._make) else None

    def restore(self) -> None:
        """Restore the original."""
        binding = self.bound
        if binding is not None:
            binding.restore()
            self._binding = None


class FamilyOnDemand:
    """A method wrapped in the subclasses that override it, only while hooks need it.

    Args:
        wanted: Whether it is needed.
        make: Makes the wrapper.
        outside: Only methods defined outside these packages are wrapped.
    """

    def __init__(self, base: type, attribute: str, wanted: Wanted, make: Make, outside: tuple[str, ...]) -> None:
        self._base, self._attribute, self._wanted, self._make, self._outside = base, attribute, wanted, make, outside
        self._family: Family | None = None

    def adapt(self) -> None:
        """Add or remove the wrappers, as the active hooks require."""
        wanted = self._wanted(registry)
        if wanted and self._family is None:
            family = self._family = _Overrides(self._base, self._attribute, self._make, self._outside)
            Family.spread([family])
        elif not wanted:
            self.restore()

    @property
    def bound(self) -> Family | None:
        """What is bound now."""
        return self._family

    def restore(self) -> None:
        """Restore the originals."""
        if self._family is not None:
            self._family.restore()
            self._family = None


class _Overrides(Family):
    """A method in the subclasses that override it; one that is set to the base class's own is no override."""

    def bind(self, cls: type) -> None:
        if vars(cls).get(self._attribute) is not vars(self._base)[self._attribute]:
            super().bind(cls)


def inner_streams(load: Callable[[], Texts], sends: str, place: int) -> Make:
    """The wrapper of an inner stream.

    Args:
        load: Returns how its chunks are read; it imports the library, so it runs only when a call is made.
        sends, place: The argument that, if given, sends parts to others: its name, and its place among the others.
    """
    texts: Texts | None = None

    def make(binding: Binding) -> Callable[..., Any]:
        def wrapper(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
            nonlocal texts
            if not binding.on:
                return binding.beyond(wrapped, instance)(*args, **kwargs)
            if (args[place] if len(args) > place else kwargs.get(sends)) is not None:
                return wrapped(*args, **kwargs)
            texts = texts or load()
            return inner_stream(texts, wrapped, instance, args, kwargs)

        return wrapper

    return make


class Telling:
    """The binding of an outlet that notifies others: its wrapper stays, and holds output back while hooks require it.

    Running operations keep the hooks they began with, so those count too.

    Args:
        around: Called in place of the function whenever there is somebody to notify.
        load: Returns the function that holds output back; it imports the library, so it runs only when a call is made.
    """

    def __init__(
        self, owner: Any, attribute: str, wanted: Wanted, around: Around, load: Callable[[], Hold], *, is_async: bool
    ) -> None:
        self._wanted, self._around, self._load, self._is_async = wanted, around, load, is_async
        self._holding = False
        self._binding = Binding(owner, attribute, self._make)

    def adapt(self) -> None:
        """Hold output back or let it pass, as the active hooks require."""
        self._holding = self._wanted(registry)

    def restore(self) -> None:
        """Restore the original."""
        self._binding.restore()

    def _make(self, binding: Binding) -> Callable[..., Any]:
        around, load, is_async = self._around, self._load, self._is_async
        function, (owner, _) = binding.function, binding.place
        known = function is not None and function.__globals__ is vars(owner)
        hold: Hold | None = None

        def wrapper(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
            nonlocal hold
            if not args or not args[0]:
                if args and known:  # with nobody to notify, the library's own function does nothing
                    return _nothing() if is_async else None
                return wrapped(*args, **kwargs)
            if not binding.on:
                return binding.beyond(wrapped, instance)(*args, **kwargs)
            if self._holding or _decided_later():
                try:
                    hold = hold or load()
                    held = hold(partial(_tell, around, wrapped), args, kwargs)
                except Exception as error:
                    _spill(error)
                    held = False
                if held:
                    return _nothing() if is_async else None
            try:
                return around(wrapped, args, kwargs)
            except BaseException as error:
                shed(error)
                raise

        return wrapper


def _decided_later() -> bool:
    """Whether hooks will see the running call's result, whatever hooks are active now."""
    op = current.get()
    return type(op) is Record and op.plan is not None and bool(op.plan.results)


def _tell(around: Around, wrapped: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    return around(wrapped, args, kwargs)


def held_back(load: Callable[[], Hold], *, is_async: bool) -> Make:
    """The wrapper of an outlet.

    Args:
        load: Returns the function that holds output back; it imports the library, so it runs only when a call is made.
    """
    hold: Hold | None = None

    def make(binding: Binding) -> Callable[..., Any]:
        def wrapper(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
            nonlocal hold
            if not binding.on:
                return binding.beyond(wrapped, instance)(*args, **kwargs)
            try:
                hold = hold or load()
                held = hold(wrapped, args, kwargs)
            except Exception as error:
                _spill(error)
                held = False
            if not held:
                return wrapped(*args, **kwargs)
            return _nothing() if is_async else None

        return wrapper

    return make


def _spill(error: Exception) -> None:
    """Let output that cannot be held back leave, and record that it did."""
    op = current_record()
    if op is not None and op.plan is not None and (op.plan.buffers or op.plan.windows):
        op.part(Deferred).leaked = True
    internal.report("withhold", error)


async def _nothing() -> None:
    """Stands in for a coroutine that must not run."""
