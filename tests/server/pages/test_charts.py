import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from spanhook.server.pages.charts import HEIGHT, WIDTH, ceiling, stacked


@pytest.mark.parametrize(
    ("value", "top"),
    [(0, 1), (-1, 1), (math.inf, 1), (1, 1), (1.01, 1.5), (23, 30), (105_000, 150_000), (0.0031, 0.004)],
)
def test_the_top_is_round(value: float, top: float) -> None:
    assert ceiling(value) == pytest.approx(top)


def test_series_stand_on_each_other() -> None:
    chart = stacked(["a", "b"], [[1, 0], [1, 2]])
    first, second = chart.columns
    assert chart.top == 2
    assert [(bar.series, bar.y, bar.height) for bar in first.bars] == [(0, 100, 100), (1, 0, 100)]
    assert [(bar.series, bar.y, bar.height) for bar in second.bars] == [(1, 0, 200)]
    assert second.values == (0, 2)


@example([(5e-324, 0.0)])
@given(st.lists(st.tuples(st.floats(0, 1e15), st.floats(0, 1e15)), min_size=1, max_size=50))
def test_nothing_leaves_the_chart(values: list[tuple[float, float]]) -> None:
    chart = stacked([str(at) for at in range(len(values))], [[one for one, _ in values], [two for _, two in values]])
    for column in chart.columns:
        for bar in column.bars:
            assert -0.02 <= bar.x <= bar.x + bar.width <= WIDTH + 0.02
            assert -0.02 <= bar.y <= bar.y + bar.height <= HEIGHT + 0.02


def test_no_columns_are_a_chart_too() -> None:
    assert stacked([], [[]]).columns == ()
