"""What faults cost, as a table at the end of the run: what went in, what came out, what was counted as lost."""

from dataclasses import dataclass, field

HEAD = ("fault", "of", "emitted", "arrived", "counted as lost", "slowest call")


@dataclass(slots=True)
class Figures:
    """The figures of a session, in the order in which they were told."""

    rows: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])

    def tell(
        self, fault: str, of: str, emitted: float, arrived: float, lost: float = 0, slowest: float | None = None
    ) -> None:
        """Add a row.

        Args:
            fault: What was broken.
            of: What is counted.
            emitted: How much of it the application made.
            arrived: How much of it came to the backend.
            lost: How much of it something counted as lost.
            slowest: Seconds of the application's longest call meanwhile, where that was measured.
        """
        counts = (f"{one:,.0f}" for one in (emitted, arrived, lost))
        self.rows.append((fault, of, *counts, "" if slowest is None else f"{slowest * 1000:,.1f} ms"))

    def lines(self) -> list[str]:
        """The table; nothing if nothing was told."""
        table = [HEAD, *self.rows] if self.rows else []
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        return [
            "  ".join(
                cell.ljust(width) if place < 2 else cell.rjust(width)
                for place, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in table
        ]
