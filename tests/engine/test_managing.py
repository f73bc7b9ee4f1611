"""Functions that return a context manager: the operation begins as it is entered, and what is entered is its result."""

from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.loops import run
from spanhook.engine import AsyncManaged, Managed
from spanhook.model import Adapter
from spanhook.testing import recorder

ADAPTER = Adapter(kind="llm.call", layer="acme", start=lambda _instance, _args, _kwargs: {})


class Library:
    """Notes what happens to what it opens."""

    def __init__(self) -> None:
        self.told: list[Any] = []
        self._kept: list[Any] = []

    def kept(self, manager: Any) -> Any:
        """A manager that is not left by being released."""
        self._kept.append(manager)
        return manager

    @contextmanager
    def opened(self, name: str, *, swallows: bool = False) -> Generator[str, None, None]:
        self.told.append("entered")
        if name == "broken":
            raise OSError(name)
        try:
            yield name
        except ValueError:
            self.told.append("failed")
            if not swallows:
                raise
        finally:
            self.told.append("left")

    @asynccontextmanager
    async def later(self, name: str, *, swallows: bool = False) -> AsyncGenerator[str, None]:
        with self.opened(name, swallows=swallows) as made:
            yield made


def use(library: Library, *, is_async: bool, fails: bool = False, **given: Any) -> list[Any]:
    """What a block with the manager gets."""
    got: list[Any] = []

    def block(made: Any) -> None:
        got.append(made)
        if fails:
            raise ValueError("in the block")

    async def main() -> None:
        async with AsyncManaged(ADAPTER, library.later, library, (given.pop("name"),), given) as made:
            block(made)

    if is_async:
        run(main())
    else:
        with Managed(ADAPTER, library.opened, library, (given.pop("name"),), given) as made:
            block(made)
    return got


@pytest.fixture(params=[False, True], ids=["sync", "async"])
def is_async(request: pytest.FixtureRequest) -> bool:
    return request.param


def test_it_is_called_as_it_is_entered(*, is_async: bool) -> None:
    library = Library()
    make = AsyncManaged if is_async else Managed
    with recorder() as seen:
        make(ADAPTER, library.later if is_async else library.opened, library, ("a",), {})
        assert (library.told, seen.operations) == ([], [])
        assert use(library, is_async=is_async, name="a") == ["a"]
    assert [op.status for op in seen.operations] == ["success"]
    assert library.told == ["entered", "left"]


def test_it_can_be_refused_and_answered(*, is_async: bool) -> None:
    refusing, answering, library = Hooks(), Hooks(), Library()
    answering.before("llm.call")(lambda op: op.respond("b"))

    @refusing.before("llm.call")
    def refuse(op: Operation) -> None:
        raise Reject("no")

    with recorder(answering):
        assert use(library, is_async=is_async, name="a") == ["b"]
    with recorder(refusing), pytest.raises(Reject, match="no"):
        use(library, is_async=is_async, name="a")
    assert library.told == []


def test_errors_of_the_block_reach_the_manager(*, is_async: bool) -> None:
    library = Library()
    with recorder() as seen:
        with pytest.raises(ValueError, match="in the block"):
            use(library, is_async=is_async, name="a", fails=True)
        assert library.told == ["entered", "failed", "left"]
        use(library, is_async=is_async, name="a", fails=True, swallows=True)
    assert [op.status for op in seen.operations] == ["success"] * 2  # entering succeeded


def test_errors_of_entering_are_the_operations(*, is_async: bool) -> None:
    library = Library()
    with recorder() as seen, pytest.raises(OSError, match="broken"):
        use(library, is_async=is_async, name="broken")
    assert [op.status for op in seen.operations] == ["error"]


def test_what_is_refused_once_entered_is_left(*, is_async: bool) -> None:
    hooks, library = Hooks(), Library()
    opened, later = library.opened, library.later
    library.opened = lambda name, **given: library.kept(opened(name, **given))  # pyright: ignore[reportAttributeAccessIssue]
    library.later = lambda name, **given: library.kept(later(name, **given))  # pyright: ignore[reportAttributeAccessIssue]

    @hooks.after("llm.call")
    def refuse(op: Operation) -> None:
        raise Reject("no")

    with recorder(hooks), pytest.raises(Reject):
        use(library, is_async=is_async, name="a")
    assert library.told == ["entered", "left"]
