"""Geometry of charts. Templates draw them as SVG, and write what is on the axes beside them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 1000.0, 200.0
"""Units of a chart; it is stretched to the space that there is."""
_GAP = 0.25


@dataclass(frozen=True, slots=True)
class Bar:
    """One part of a column.

    Attributes:
        x, y, width, height: Its place.
        series: The number of its series.
    """

    x: float
    y: float
    width: float
    height: float
    series: int


@dataclass(frozen=True, slots=True)
class Column:
    """What belongs to one value of the horizontal axis.

    Attributes:
        label: The value.
        values: One for each series.
        x, width: Its place, with the gap beside it.
        bars: Its parts, from below.
    """

    label: str
    values: tuple[float, ...]
    x: float
    width: float
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """Stacked columns.

    Attributes:
        columns: The columns.
        top: The value at the upper edge.
    """

    columns: tuple[Column, ...]
    top: float


def stacked(labels: Sequence[str], series: Sequence[Sequence[float]]) -> Chart:
    """Columns with the series stacked on each other.

    Args:
        labels: The values of the horizontal axis.
        series: The values of each series, one for each label; negative ones count as 0.
    """
    top = ceiling(max((sum(max(0.0, one[at]) for one in series) for at in range(len(labels))), default=0.0))
    width = WIDTH / max(1, len(labels))
    return Chart(tuple(_column(at, label, series, width, top) for at, label in enumerate(labels)), top)


def ceiling(value: float) -> float:
    """The next round number that is not below a value; 1 for none."""
    if not 1e-300 < value < math.inf:  # below, floats have no digits left to be rounded
        return 1.0
    size = 10.0 ** math.floor(math.log10(value))
    return next(size * step for step in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if size * step >= value * (1 - 1e-9))


def _column(at: int, label: str, series: Sequence[Sequence[float]], width: float, top: float) -> Column:
    bars, below = list[Bar](), 0.0
    for number, values in enumerate(series):
        height = max(0.0, values[at]) / top * HEIGHT
        if height:
            x = at * width + width * _GAP / 2
            y, wide = round(HEIGHT - below - height, 2), round(width * (1 - _GAP), 2)
            bars.append(Bar(round(x, 2), y, wide, height, number))
        below += height
    values = tuple(one[at] for one in series)
    return Column(label, values, round(at * width, 2), round(width, 2), tuple(bars))
