"""What the default suite leaves to slow tests, and how a test of an inventory reports."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.inventory import each
from tests.thinning import APART, STEP, diagonal_of, mark_products, sample_of


@given(st.lists(st.integers(1, 6), min_size=1, max_size=4))
def test_a_diagonal_has_each_value_of_each_parameter(lengths: list[int]) -> None:
    diagonal = diagonal_of(lengths)

    assert len(diagonal) == max(lengths)
    for parameter, length in enumerate(lengths):
        assert {place[parameter] for place in diagonal} == set(range(length))


@pytest.mark.parametrize("letter", "ab")
@pytest.mark.parametrize(("number", "square"), [(1, 1), (2, 4), (3, 9)])
def product(number: int, square: int, letter: str) -> None: ...


def test_of_a_product_each_value_is_tried_by_default(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = request.node.getparent(pytest.Module)
    monkeypatch.setattr(request.module, "test_product", product, raising=False)
    items = module.ihook.pytest_pycollect_makeitem(collector=module, name="test_product", obj=product)

    mark_products(items)

    assert len(items) == 6
    assert [item.callspec.id for item in items if not item.get_closest_marker("slow")] == ["1-1-a", "2-4-b", "3-9-a"]


@pytest.mark.parametrize(
    ("mark", "count", "tried"),
    [("", 3, 3), ("", 4, 2), ("", 9, 3), ("one_value", 2, 1), ("one_value", 9, 1), ("every_value", 9, 9)],
)
def test_of_many_cases_a_sample_is_tried_by_default(
    mark: str, count: int, tried: int, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cases(number: int) -> None: ...

    marked: Any = pytest.mark.parametrize("number", range(count))(cases)
    marked = getattr(pytest.mark, mark)(marked) if mark else marked
    module = request.node.getparent(pytest.Module)
    monkeypatch.setattr(request.module, "test_cases", marked, raising=False)
    items = module.ihook.pytest_pycollect_makeitem(collector=module, name="test_cases", obj=marked)

    mark_products(items)

    assert sum(not item.get_closest_marker("slow") for item in items) == tried


def test_tests_that_are_not_in_the_default_suite_are_left_alone(pytestconfig: pytest.Config) -> None:
    addopts: list[str] = pytestconfig.getini("addopts")
    selected = addopts[addopts.index("-m") + 1]
    assert {mark.removeprefix("not ") for mark in selected.split(" and ")} == APART


@given(st.integers(1, 20), st.text())
def test_a_sample_has_every_nth_case_and_never_none(count: int, name: str) -> None:
    sample = sample_of(range(count), name)

    assert len(sample) in (max(1, count // STEP), -(-count // STEP))


def test_different_tests_try_different_cases() -> None:
    names = [f"test_{number}" for number in range(20)]
    assert {case for name in names for case in sample_of(range(2 * STEP), name)} == {*range(2 * STEP)}


def test_an_inventory_reports_each_miss() -> None:
    @each([(1, 2), (2, 2), (3, 2)], lambda one, other: f"{one}/{other}")
    def same(one: int, other: int) -> None:
        assert one == other

    with pytest.raises(ExceptionGroup, match="2 of 3 cases") as failed:
        same()
    assert [note for error in failed.value.exceptions for note in error.__notes__ if "of" in note] == [
        "of 1/2",
        "of 3/2",
    ]


def test_an_inventory_that_is_empty_fails() -> None:
    @each([])
    def never(_case: str) -> None: ...

    with pytest.raises(AssertionError):
        never()


def test_other_errors_are_not_misses() -> None:
    @each(["a"])
    def broken(case: str) -> None:
        raise ValueError(case)

    with pytest.raises(ValueError, match="a"):
        broken()
