"""The way of one operation as a picture, drawn from what a warm tool call really visits."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

from benchmarks.paths import Visit, traced

TARGET = Path(__file__).with_name("operation.svg")
COMMAND = "python -m docs.pictures operation"
CASE = "tool"

STEPS = {
    "call": "wrapper",
    "begin": "begin",
    "context_with": "context",
    "passes": "gates",
    "show": "call",
    "settle": "settle",
    "finish": "account",
    "_followers": "follow",
    "run_rest": "hooks after",
    "end": "report",
    "LeanSpan.end": "end",
    "outcome": "outcome",
}
"""The functions of spanhook with which steps begin, in order, and what ``docs/one-operation.md`` calls the steps."""
OUTSIDE = {
    ("benchmarks/setting.py", "_nothing"): "a hook",
    ("benchmarks/setting.py", "_around"): "a hook around",
    ("benchmarks/workloads/models.py", "search"): "the tool",
    ("opentelemetry/sdk/trace/export/__init__.py", "BatchSpanProcessor.on_end"): "a span processor",
}
"""What is shown of other people's code."""

WIDTH, LABEL, MARGIN, GAP, HEIGHT = 760, 104, 14, 6, 36
NAME, FILE = 7.2, 6.0
"""Widths of a character in pixels, of the two sizes of text."""
PACKAGES = ("instrument", "engine", "gating", "telemetry", "model")
FONTS = "ui-monospace, SFMono-Regular, Menlo, Consolas, DejaVu Sans Mono, monospace"
STYLE = """
.paper { fill: #ffffff; stroke: #d0d7de } .step, .name { fill: #1f2328 } .file { fill: #57606a }
.step { font-weight: 700 } .box { fill: #f6f8fa; stroke: #6e7781; stroke-width: 1.5 } .others { stroke-dasharray: 4 3 }
.instrument { stroke: #8a5a00 } .engine { stroke: #0b5cad } .gating { stroke: #8250a8 }
.telemetry { stroke: #1a7f37 } .model { stroke: #b3261e } .rule { stroke: #d0d7de }
@media (prefers-color-scheme: dark) {
.paper { fill: #161b22; stroke: #3d444d } .step, .name { fill: #e6edf3 } .file { fill: #9aa4af }
.box { fill: #1f252d; stroke: #8b949e } .rule { stroke: #3d444d }
.instrument { stroke: #d29922 } .engine { stroke: #58a6ff } .gating { stroke: #bc8cff }
.telemetry { stroke: #3fb950 } .model { stroke: #ff7b72 }
}
"""


class Box(NamedTuple):
    """Functions of one file that are visited one after the other."""

    package: str
    names: str
    file: str

    @property
    def width(self) -> float:
        return round(max(len(self.names) * NAME, len(self.file) * FILE) + 14)


def draw() -> None:
    """Trace a call, and write the picture."""
    TARGET.write_text(picture(traced(CASE)))


def picture(path: Sequence[Visit]) -> str:
    """A path as SVG: a row for each step, in it the visited functions in order."""
    shapes: list[str] = []
    top = float(MARGIN)
    for step, visits in _steps(path):
        if shapes:
            shapes.append(f'<path class="rule" d="M{MARGIN} {top:g}H{WIDTH - MARGIN}"/>')
            top += GAP
        shapes.append(f'<text class="step" x="{MARGIN}" y="{top + 22:g}">{escape(step)}</text>')
        left = float(LABEL)
        for box in _boxes(visits):
            if left + box.width > WIDTH - MARGIN and left > LABEL:
                left, top = float(LABEL), top + HEIGHT + GAP
            shapes += _drawn(box, left, top)
            left += box.width + GAP
        top += HEIGHT + GAP
    shapes += _legend(top + GAP)
    height = top + GAP + 20 + MARGIN
    size = f'viewBox="0 0 {WIDTH} {height:g}" width="{WIDTH}" height="{height:g}"'
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="{FONTS}" font-size="12">',
            f"<!-- {COMMAND} -->",
            f"<style>{STYLE}</style>",
            f'<rect class="paper" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1:g}" rx="8"/>',
            *shapes,
            "</svg>\n",
        )
    )


def _steps(path: Sequence[Visit]) -> Iterator[tuple[str, list[Visit]]]:
    """Every step with what is visited in it.

    Raises:
        ValueError: A function with which a step begins was not visited, or in another order.
    """
    seen: list[tuple[str, list[Visit]]] = []
    for visit in path:
        ours = visit.file.startswith("spanhook/")
        if ours and visit.function in STEPS:
            seen.append((visit.function, []))
        if ours or (visit.file, visit.function) in OUTSIDE:
            if not seen:  # the wrapper, which comes to `call`
                seen.append(("", []))
            seen[-1][1].append(visit)
    first, *rest = seen
    if [function for function, _ in rest] != list(STEPS):
        raise ValueError(f"a call visits {[function for function, _ in rest]}, steps begin with {list(STEPS)}")
    yield "wrapper", [*first[1], *rest[0][1]]
    yield from ((STEPS[function], visits) for function, visits in rest[1:])


def _boxes(visits: Sequence[Visit]) -> Iterator[Box]:
    for file, group in groupby(visits, key=lambda visit: visit.file):
        several = list(dict.fromkeys(OUTSIDE.get(visit) or _short(visit.function) for visit in group))
        package, *folders = file.split("/")
        while several:
            fitting = len(several)
            while fitting > 1 and len(" · ".join(several[:fitting])) * NAME > WIDTH - LABEL - 2 * MARGIN:
                fitting -= 1
            names, several = " · ".join(several[:fitting]), several[fitting:]
            if package == "spanhook":
                yield Box(folders[0], names, "/".join(folders[-2:]))
            else:
                yield Box("others", names, "yours" if package == "benchmarks" else "OpenTelemetry")


def _short(function: str) -> str:
    """A function without those that it was defined in; a class instead of its constructor."""
    return function.rpartition("<locals>.")[2].removesuffix(".__init__")


def _drawn(box: Box, left: float, top: float) -> Iterator[str]:
    middle = left + box.width / 2
    yield f'<rect class="box {box.package}" x="{left:g}" y="{top:g}" width="{box.width:g}" height="{HEIGHT}" rx="4"/>'
    for kind, text, down, size, cell in (("name", box.names, 15, 12, NAME), ("file", box.file, 29, 10, FILE)):
        yield (
            f'<text class="{kind}" x="{middle:g}" y="{top + down:g}" font-size="{size}" text-anchor="middle" '
            f'textLength="{len(text) * cell:g}" lengthAdjust="spacingAndGlyphs">{escape(text)}</text>'
        )


def _legend(top: float) -> Iterator[str]:
    left = float(LABEL)
    for package in (*PACKAGES, "others"):
        text = f"{package}/" if package != "others" else "not spanhook's"
        yield f'<rect class="box {package}" x="{left:g}" y="{top:g}" width="14" height="14" rx="3"/>'
        yield f'<text class="file" x="{left + 20:g}" y="{top + 11:g}">{text}</text>'
        left += 36 + len(text) * NAME
