"""Matrices of which a part is enough by default."""

from collections.abc import Iterable
from typing import Any

import pytest


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
