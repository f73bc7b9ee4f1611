"""Inventories, such as all panels of the dashboards: one test goes through one of them, and names every miss."""

from collections.abc import Callable, Sequence
from typing import Any


def each(cases: Sequence[Any], name: Callable[..., str] = str) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """Make one test of one that takes a case, to be run with all of them.

    Args:
        cases: The cases; a tuple is taken apart into several arguments.
        name: What a case is called in the report.
    """

    def decorate(test: Callable[..., None]) -> Callable[[], None]:
        def whole() -> None:
            assert cases
            misses: list[AssertionError] = []
            for case in cases:
                arguments: tuple[Any, ...] = case if type(case) is tuple else (case,)
                try:
                    test(*arguments)
                except AssertionError as error:
                    error.add_note(f"of {name(*arguments)}")
                    misses.append(error)
            if misses:
                raise ExceptionGroup(f"{len(misses)} of {len(cases)} cases", misses)

        whole.__name__, whole.__qualname__, whole.__doc__ = test.__name__, test.__qualname__, test.__doc__
        whole.__module__ = test.__module__
        return whole

    return decorate
