"""What the console prints of a run, as a picture: text stays text, and tree lines are drawn, so any font will do."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape

TARGET = Path(__file__).with_name("console.svg")
COMMAND = "spanhook demo"
SCENE = "2/6"
WIDTH = 100
"""Columns of the terminal."""

CELL, LINE, MARGIN, BAR = 8.0, 20.0, 20.0, 34.0
"""Of the picture, in pixels: a column, a line, what is around the text, and the bar above it."""

COLOURS = {"31": "#b3261e", "32": "#1a7f37", "33": "#8a5a00", "36": "#0b6e8a"}
FONTS = "ui-monospace, SFMono-Regular, Menlo, Consolas, DejaVu Sans Mono, monospace"
DIM, TEXT, PAPER, EDGE = "#6e7781", "#1f2328", "#ffffff", "#d0d7de"

#: Half widths and heights of a cell from its middle that a character's lines go to: left, right, up, down.
LINES = {"─": (1, 1, 0, 0), "│": (0, 0, 1, 1), "├": (0, 1, 1, 1)}
CORNER = "╰"

_STYLE = re.compile(r"\x1b\[(\d+)m")


def draw() -> None:
    """Run the demo, and write the picture of one of its scenes."""
    TARGET.write_text(picture([f"\x1b[2m$\x1b[0m {COMMAND}", "", *scene(demo(), SCENE)]))


def demo() -> str:
    """What the demo prints in a terminal with colours."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "SPANHOOK_"))}
    ran = subprocess.run(
        [sys.executable, "-m", *COMMAND.split()],
        env={**environ, "FORCE_COLOR": "1", "COLUMNS": str(WIDTH), "LINES": "60", "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        check=True,
        timeout=120,
    )
    return ran.stdout


def scene(printed: str, number: str) -> list[str]:
    """The lines of one scene."""
    for block in printed.split("\n\n"):
        if _STYLE.sub("", block).startswith(number):
            return block.rstrip("\n").split("\n")
    raise ValueError(f"the demo has printed no scene {number}")


def picture(lines: list[str]) -> str:
    """Lines with escape sequences as SVG."""
    width, height = WIDTH * CELL + 2 * MARGIN, BAR + len(lines) * LINE + 2 * MARGIN
    size = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
    frame = f'width="{width - 1:g}" height="{height - 1:g}" rx="8" fill="{PAPER}" stroke="{EDGE}"'
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="{FONTS}" font-size="13.3">',
            f'<rect x="0.5" y="0.5" {frame}/>',
            f'<path d="M0.5 {BAR:g}H{width - 0.5:g}" stroke="{EDGE}"/>',
            *(f'<circle cx="{MARGIN + 18 * index:g}" cy="{BAR / 2:g}" r="5.5" fill="{EDGE}"/>' for index in range(3)),
            *(shape for row, line in enumerate(lines) for shape in _line(line, BAR + MARGIN + row * LINE)),
            "</svg>\n",
        )
    )


def _line(line: str, top: float) -> Iterator[str]:
    column = 0
    for text, style in _runs(line):
        for piece in re.findall(rf"[{''.join(LINES)}{CORNER}]|[^{''.join(LINES)}{CORNER}]+", text):
            left = MARGIN + column * CELL
            column += len(piece)
            if piece in LINES or piece == CORNER:
                yield f'<path d="{_strokes(piece, left, top)}" fill="none" stroke="{EDGE}" stroke-width="1.5"/>'
            elif piece.strip():
                yield _text(piece, style, left, top)


def _runs(line: str) -> Iterator[tuple[str, str]]:
    """Text and the number of its style."""
    style = "0"
    for index, piece in enumerate(_STYLE.split(line)):
        if index % 2:
            style = piece
        elif piece:
            yield piece, style


def _strokes(piece: str, left: float, top: float) -> str:
    x, y = left + CELL / 2, top + LINE / 2
    if piece == CORNER:
        return f"M{x:g} {top:g}V{y - 4:g}Q{x:g} {y:g} {x + 4:g} {y:g}"
    back, forth, up, down = LINES[piece]
    across = f"M{x - back * CELL / 2:g} {y:g}H{x + forth * CELL / 2:g}" if back or forth else ""
    return across + (f"M{x:g} {y - up * LINE / 2:g}V{y + down * LINE / 2:g}" if up or down else "")


def _text(piece: str, style: str, left: float, top: float) -> str:
    """Text that takes exactly its columns, whatever the font."""
    shown = piece.strip()
    start = left + (len(piece) - len(piece.lstrip())) * CELL
    weight = ' font-weight="700"' if style == "1" else ""
    colour = DIM if style == "2" else COLOURS.get(style, TEXT)
    return (
        f'<text x="{start:g}" y="{top + 14.5:g}" textLength="{len(shown) * CELL:g}" lengthAdjust="spacingAndGlyphs" '
        f'xml:space="preserve" fill="{colour}"{weight}>{escape(shown)}</text>'
    )
