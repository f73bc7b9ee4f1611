"""A finished run as text: one line per operation with its decisions below, and the total cost."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from spanhook.export.console.folding import fold
from spanhook.export.console.terminal import Style, width, wrap
from spanhook.export.console.tree import Node
from spanhook.model import DecisionRecord, Usage, harmless

GAP = "  "
MIN_LABEL = 24
NOTE_LINES = 3
_FOLDED = "xN: N similar operations, totals shown"

_STATUS_COLOURS = {
    "success": "green",
    "error": "red",
    "rejected": "red",
    "interrupted": "yellow",
    "cancelled": "yellow",
    "abandoned": "yellow",
}
_DECISION_COLOURS = {
    "reject": "red",
    "attempted": "yellow",
    "error": "red",
    "timeout": "red",
    "too_late": "red",
    "pause": "yellow",
    "skipped": "dim",
}
_IN_SHADOW = {
    "reject": "would reject",
    "attempted": "would reject",
    "modify": "would modify",
    "replace": "would replace",
    "pause": "would pause",
    "too_late": "would be too late",
}


class Row(NamedTuple):
    """One operation's line: its prefix, the prefix of the lines that follow, and its columns."""

    before: str
    hanging: str
    node: Node
    values: tuple[str, ...]

    @property
    def label(self) -> str:
        return f"{self.node.kind} {harmless(self.node.name)}".rstrip()

    @property
    def times(self) -> str:
        return f" x{self.node.count:,}" if self.node.count > 1 else ""

    @property
    def columns(self) -> int:
        return len(self.before) + width(self.label) + len(self.times)


def render(tree: Node, style: Style) -> str:
    """The tree of a finished run, its usage by model and its identity; ends with a line break.

    If it has more lines than the screen, consecutive siblings are folded; if that is not enough, all equal siblings.
    """
    footer = list(_footer(tree, style))
    lines = _lines(tree, style, style.height - len(footer))
    return "\n".join((*lines, *footer)) + "\n"


def _lines(tree: Node, style: Style, room: int) -> list[str]:
    rows = list(_rows(tree, style))
    if not style.height:
        return _drawn(rows, style)
    for adjacent in (True, False):
        if len(rows) <= room and len(lines := _drawn(rows, style)) <= room:
            return lines
        rows = list(_rows(fold(tree, adjacent=adjacent), style))
    return _drawn(rows, style)


def _drawn(rows: Sequence[Row], style: Style) -> list[str]:
    columns = _widths(rows, style)
    lines: list[str] = []
    for row in rows:
        lines.append(_line(row, columns, style))
        lines.extend(_notes(row, style))
    if any(row.node.count > 1 for row in rows):
        lines.append(style.paint(_FOLDED, "dim"))
    return lines


# ----------------------------------------------------------------------------------------------- the tree


def _rows(tree: Node, style: Style) -> Iterator[Row]:
    branch, last, beside = ("├─ ", "╰─ ", "│  ") if style.unicode else ("|- ", "`- ", "|  ")
    stack = [("", "", tree)]
    while stack:
        before, hanging, node = stack.pop()
        children = sorted(node.children, key=lambda child: child.start_ns)
        yield Row(before, hanging + (beside if children else "   "), node, _values(node, style))
        inner = _shallow(hanging, style)
        for child in reversed(children):
            is_last = child is children[-1]
            stack.append((inner + (last if is_last else branch), inner + ("   " if is_last else beside), child))


def _shallow(hanging: str, style: Style) -> str:
    """Limit the indentation of deep trees to a third of the width."""
    room = max(style.width // 3, 12)
    return hanging if len(hanging) <= room else style.ellipsis.ljust(3) + hanging[-(room - 3) :]


def _values(node: Node, style: Style) -> tuple[str, ...]:
    """Duration, tokens in, tokens out, cost, status."""
    used = node.usage
    about, tokens = "~" if used.estimated else "", ("", "")
    if used.total_tokens:
        tokens = f"{about}{used.input_tokens:,} in", f"{about}{used.output_tokens:,} out"
    return duration(node.duration_ns), *tokens, cost(used, style), node.status


def _widths(rows: Sequence[Row], style: Style) -> list[int]:
    """Widths of the label and of each value; if there is too little room, tokens and then costs are left out."""
    label = max(row.columns for row in rows)
    widths = [max(map(len, column)) for column in zip(*(row.values for row in rows), strict=True)]
    room = label
    for dropped in ((), (1, 2), (3,)):
        for index in dropped:
            widths[index] = 0
        room = style.width - sum(len(GAP) + one for one in widths if one)
        if room >= min(label, MIN_LABEL):
            break
    return [max(min(label, room), 1), *widths]


def _line(row: Row, columns: Sequence[int], style: Style) -> str:
    label_width, *widths = columns
    before = row.before[max(len(row.before) + len(row.times) - label_width, 0) :]
    room = label_width - len(before) - len(row.times)
    label = style.clip(row.label, room)
    padding = " " * (room - width(label))
    kind, space, name = label.partition(" ")
    shown = [style.paint(before, "dim"), kind, space, style.paint(name, "bold"), row.times, padding]
    *values, status = row.values
    for value, column in zip(values, widths, strict=False):
        if column:
            shown.append(GAP + value.rjust(column))
    shown.append(GAP + style.paint(status, _STATUS_COLOURS.get(status, "")))
    return "".join(shown).rstrip()


def _notes(row: Row, style: Style) -> Iterator[str]:
    """The lines below an operation: hooks' decisions, its error, and what is not shown."""
    node = row.node
    for decision in node.decisions:
        yield from _note(_told(decision, style), row, _DECISION_COLOURS.get(decision.decision, "cyan"), style)
    for decision in node.in_shadow:
        yield from _note(_told_in_shadow(decision), row, "cyan", style)
    if node.undecided:
        yield from _note("shadow: some hooks have not decided yet", row, "dim", style)
    if node.error and not any(child.error == node.error for child in node.children):
        yield from _note(harmless(node.error), row, "red", style)
    if node.differing:
        yield from _note(f"{node.differing:,} with other messages", row, "dim", style)
    if node.in_hook:
        yield from _note("made by a hook", row, "dim", style)
    if node.left_out:
        yield from _note(f"{node.left_out:,} more inside", row, "dim", style)


def _told(decision: DecisionRecord, style: Style) -> str:
    code = f" {decision.status_code}" if decision.status_code else ""
    return style.separator.join(filter(None, (decision.decision + code, _hook(decision), harmless(decision.reason))))


def _told_in_shadow(decision: DecisionRecord) -> str:
    """What a hook in shadow mode would have done. One that failed says so in its reason, and might have rejected."""
    would = _IN_SHADOW.get(decision.decision, "would reject" if decision.status_code else "")
    said = ": ".join(filter(None, (would, harmless(decision.reason)))) or decision.decision
    return f"shadow: {_hook(decision)} {said}"


def _hook(decision: DecisionRecord) -> str:
    phase = decision.event.rpartition(".")[2]
    return harmless(decision.hook) if phase == "pre" else f"{harmless(decision.hook)} ({phase})"


def _note(text: str, row: Row, colour: str, style: Style) -> Iterator[str]:
    for index, line in enumerate(wrap(text, style.width - len(row.hanging) - 2, NOTE_LINES, style)):
        yield style.paint(row.hanging, "dim") + ("  " if index else "") + style.paint(line, colour)


# ----------------------------------------------------------------------------------------------- totals


def _footer(tree: Node, style: Style) -> Iterator[str]:
    used = tree.usage
    if used.llm_calls or used.tool_calls:
        calls = f"{_count(used.llm_calls, 'model call')}, {_count(used.tool_calls, 'tool call')}"
        yield from usage_table(tree.by_model, style, f"total: {calls}")
    facts = dict(tree.facts)
    if tree.within:
        facts["ended after its run"] = tree.within
    if facts:
        text = style.separator.join(f"{label} {harmless(value)}" for label, value in facts.items())
        yield from (style.paint(line, "dim") for line in wrap(text, style.width, NOTE_LINES, style))


def usage_table(by_model: Mapping[str, Usage], style: Style, title: str) -> Iterator[str]:
    """Tokens and cost of each model, one per line."""
    yield style.paint(title, "bold")
    lines = _table([(harmless(model), *_spent(used, style, whole=True)) for model, used in by_model.items()])
    if any(width(line) > style.width for line in lines):
        lines = _table([(harmless(model), *_spent(used, style, whole=False)) for model, used in by_model.items()])
    yield from lines


def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    lines: list[str] = []
    for name, *values in rows:
        shown = [value.rjust(columns) for value, columns in zip(values, widths[1:], strict=True)]
        lines.append(GAP + GAP.join((name + " " * (widths[0] - width(name)), *shown)).rstrip())
    return lines


def _spent(used: Usage, style: Style, *, whole: bool) -> tuple[str, str, str]:
    cached = f" ({used.cache_read_tokens:,} cached)" if used.cache_read_tokens and whole else ""
    thought = f" ({used.reasoning_tokens:,} reasoning)" if used.reasoning_tokens and whole else ""
    about = "~" if used.estimated else ""
    return f"{about}{used.input_tokens:,} in{cached}", f"{about}{used.output_tokens:,} out{thought}", cost(used, style)


def duration(nanoseconds: int) -> str:
    """A duration in the unit that suits it."""
    if nanoseconds < 999_500:
        return f"{nanoseconds / 1e6:.2f} ms"
    if nanoseconds < 999_500_000:
        return f"{nanoseconds / 1e6:.0f} ms"
    if nanoseconds < 59_995_000_000:
        return f"{nanoseconds / 1e9:.2f} s"
    minutes, seconds = divmod(round(nanoseconds / 1e9), 60)
    return f"{minutes:,} min {seconds:02} s"


def cost(used: Usage, style: Style) -> str:
    """A cost in dollars; ``unpriced`` where no price is known, and a lower bound if some prices are unknown."""
    if used.cost_usd is None:
        return "unpriced" if used.total_tokens else ""
    sign = ("≥" if style.unicode else ">=") if used.unpriced_tokens else "~" if used.estimated else ""
    return f"{sign}${used.cost_usd:.6f}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
