"""Matrices of which a part is enough by default; the rest is for slow tests."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar
from zlib import crc32

import pytest

Case = TypeVar("Case")

SAMPLED = frozenset(("conformance", "instrument"))
"""Folders in which most tests try one promise with each way of calling a library."""
STEP = 5
"""Of how many cases there the default suite tries one."""
APART = frozenset(("slow", "e2e", "compose", "presidio", "agent_hooks", "applications", "foreign", "browser"))
"""The marks of tests that are not in the default suite."""
ELSEWHERE = 3
"""Of how many it tries one elsewhere, of a test that has more."""


def mark_products(items: Iterable[pytest.Item]) -> None:
    """Mark tests ``slow`` that try other values of their parameters in the code that the rest tries.

    Of a product of parameters the default suite tries each value once, not each combination, unless the test has the
    mark ``every_combination``. Of these it tries a sample, unless the test has the mark ``every_value``: every fifth in
    the folders that are ``SAMPLED``, every third elsewhere if there are more than three, and one if the test has the
    mark ``one_value``.
    """
    groups: dict[tuple[object, str], list[pytest.Function]] = {}
    for item in items:
        if isinstance(item, pytest.Function) and hasattr(item, "callspec") and not _is_apart(item):
            groups.setdefault((item.parent, item.originalname), []).append(item)
    for (_, name), group in groups.items():
        if group[0].get_closest_marker("every_combination"):
            continue
        kept = _diagonal(group)
        if not group[0].get_closest_marker("every_value"):
            kept = sample_of(kept, name, _step(group[0], len(kept)))
        for item in {*group}.difference(kept):
            item.add_marker(pytest.mark.slow)


def _is_apart(item: pytest.Item) -> bool:
    return any(mark.name in APART for mark in item.iter_markers())


def _step(test: pytest.Function, count: int) -> int:
    if test.get_closest_marker("one_value"):
        return count
    if SAMPLED.intersection(test.path.parts):
        return STEP
    return ELSEWHERE if count > ELSEWHERE else 1


def _diagonal(group: Sequence[pytest.Function]) -> list[pytest.Function]:
    places = [item.callspec._idlist for item in group]  # not `indices`: pytest 9 numbers the combinations there
    values = [list(dict.fromkeys(parameter)) for parameter in zip(*places, strict=True)]
    diagonal = diagonal_of([len(one) for one in values])
    return [
        item
        for item, place in zip(group, places, strict=True)
        if tuple(one.index(value) for one, value in zip(values, place, strict=True)) in diagonal
    ]


def sample_of(cases: Sequence[Case], name: str, step: int = STEP) -> Sequence[Case]:
    """One of ``step`` cases, and at least one.

    Args:
        cases: All cases of a test.
        name: The test's, by which it differs where they begin: so different tests try different ways of calling.
        step: Of how many it is one.
    """
    return cases[crc32(name.encode()) % min(step, len(cases)) :: step]


def diagonal_of(lengths: Sequence[int]) -> set[tuple[int, ...]]:
    """Places in a product that have each value of each parameter, as few as there can be.

    Args:
        lengths: How many values each parameter has.
    """
    return {tuple(number % length for length in lengths) for number in range(max(lengths))}


def a_fifth(cases: Iterable[Any]) -> list[Any]:
    """Every fifth case always; the others, whose code is mostly the same, where slow tests are run.

    Cases mostly come in twos and fours, such as sync, async and their streams: so a fifth has some of each.

    Args:
        cases: Values of a parameter, or what ``pytest.param`` makes of several.
    """
    return [case if number % 5 == 0 else _slow(case) for number, case in enumerate(cases)]


def _slow(case: Any) -> Any:
    if hasattr(case, "marks"):
        return pytest.param(*case.values, id=case.id, marks=(*case.marks, pytest.mark.slow))
    return pytest.param(case, marks=pytest.mark.slow)
