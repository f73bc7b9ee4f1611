"""What several commands print: tables, and how far they are."""

import sys
import time
from collections.abc import Iterator, Sequence

GAP = "  "
Cells = Sequence[str]


def section(title: str, head: Cells, rows: Sequence[Cells], *, numbers: bool = False) -> Iterator[str]:
    """The lines of a table below its title; none without rows.

    Args:
        title: The title.
        head: The heads of the columns; empty for none.
        rows: The cells of each row.
        numbers: Whether columns that begin with a digit are aligned to the right.
    """
    if not rows:
        return
    lines = [head, *rows] if head else rows
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    right = [numbers and cell[:1].isdigit() for cell in rows[0]]
    yield ""
    yield title
    for line in lines:
        cells = [
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(line, widths, right, strict=True)
        ]
        yield (GAP + GAP.join(cells)).rstrip()


class Progress:
    """How far a command is, on a terminal, if it takes a while.

    Args:
        command: The command.
    """

    def __init__(self, command: str) -> None:
        self._command = command
        self._next = time.monotonic() + 2.0
        self._shown = False
        self._on = sys.stderr is not None and sys.stderr.isatty()

    def tell(self, text: str) -> None:
        """Show how far it is, not too often."""
        if self._on and time.monotonic() >= self._next:
            self._next = time.monotonic() + 0.2
            self._shown = True
            sys.stderr.write(f"\r\x1b[2Kspanhook {self._command}: {text}")
            sys.stderr.flush()

    def end(self) -> None:
        """Clear the line."""
        if self._shown:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()
