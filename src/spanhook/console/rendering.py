"""A finished run as text: one line per operation, its decisions below it, and what it all cost."""

from collections.abc import Iterator, Mapping, Sequence

from spanhook.console.terminal import Style, harmless, width, wrap
from spanhook.console.tree import Node
from spanhook.operation import DecisionRecord
from spanhook.usage import Usage

GAP = "  "
MIN_LABEL = 24
NOTE_LINES = 3

_STATUS_COLOURS = {
    "success": "green",
    "error": "red",
    "rejected": "red",
    "interrupted": "yellow",
    "cancelled": "yellow",
    "abandoned": "yellow",
}
_DECISION_COLOURS = {"reject": "red", "error": "red", "timeout": "red", "pause": "yellow", "skipped": "dim"}
_DONE = {
    "reject": "rejected it",
    "modify": "rewrote the request",
    "replace": "replaced the result",
    "pause": "paused it",
    "error": "failed",
    "timeout": "took too long",
    "skipped": "was skipped",
}

Row = tuple[str, Node, tuple[str, ...]]
"""The lines of the tree in front of an operation, the operation, and its columns."""


def render(tree: Node, style: Style) -> str:
    """The tree of a finished run, its usage by model, and whose run it was; ends with a line break."""
    rows = [(prefix, node, _columns(node, style)) for prefix, _, node in _flat(tree, style)]
    columns = _fitting([row[2] for row in rows], max(_label_width(row) for row in rows), style)
    below = [hanging for _, hanging, _ in _flat(tree, style)]
    lines: list[str] = []
    for row, hanging in zip(rows, below, strict=True):
        lines.append(_line(row, columns, style))
        lines.extend(_notes(row[1], hanging, style))
    lines.extend(_footer(tree, style))
    return "\n".join(lines) + "\n"


# ----------------------------------------------------------------------------------------------- the tree


def _flat(tree: Node, style: Style) -> Iterator[tuple[str, str, Node]]:
    """Every node with what stands before it and what stands before the lines that follow it."""
    branch, last, beside = ("├─ ", "╰─ ", "│  ") if style.unicode else ("|- ", "`- ", "|  ")
    stack = [("", "", tree)]
    while stack:
        before, hanging, node = stack.pop()
        children = sorted(node.children, key=lambda child: child.start_ns)
        yield before, hanging + (beside if children or node.left_out else "   "), node
        inner = _shallow(hanging, style)
        for index, child in reversed(list(enumerate(children))):
            is_last = index == len(children) - 1 and not node.left_out
            stack.append((inner + (last if is_last else branch), inner + ("   " if is_last else beside), child))


def _shallow(hanging: str, style: Style) -> str:
    """Deep trees go no further to the right than a third of the width."""
    room = max(style.width // 3, 12)
    return hanging if len(hanging) <= room else style.ellipsis.ljust(3) + hanging[-(room - 3) :]


def _label(node: Node) -> str:
    return f"{node.kind} {harmless(node.name)}".rstrip()


def _label_width(row: Row) -> int:
    return len(row[0]) + width(_label(row[1]))


def _line(row: Row, columns: Sequence[int], style: Style) -> str:
    before, node, values = row
    label_width, *widths = columns
    label = style.clip(_label(node), label_width - len(before))
    padding = " " * (label_width - len(before) - width(label))
    kind, _, name = label.partition(" ")
    shown = [style.paint(before, "dim"), kind, f" {style.paint(name, 'bold')}" if name else "", padding]
    for index, value in enumerate(values):
        if widths[index] == 0:
            continue
        is_status = index == len(values) - 1
        shown.append(GAP)
        shown.append(style.paint(value, _STATUS_COLOURS.get(value, "")) if is_status else value.rjust(widths[index]))
    return "".join(shown).rstrip()


def _columns(node: Node, style: Style) -> tuple[str, ...]:
    """Duration, tokens in, tokens out, cost, status."""
    used = node.usage
    tokens = (f"{used.input_tokens:,} in", f"{used.output_tokens:,} out") if used.total_tokens else ("", "")
    return duration(node.duration_ns), *tokens, cost(used, style), node.status


def _fitting(rows: Sequence[tuple[str, ...]], label: int, style: Style) -> list[int]:
    """Widths of the label and of every column; where all is too narrow, tokens and then costs are left out."""
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))]
    for dropped in ((), (1, 2), (3,)):
        for index in dropped:
            widths[index] = 0
        room = style.width - sum(len(GAP) + one for one in widths if one)
        if room >= min(label, MIN_LABEL):
            break
    return [max(min(label, room), 1), *widths]


def _notes(node: Node, hanging: str, style: Style) -> Iterator[str]:
    """The lines below an operation: what hooks decided about it, what it failed with, what is not shown."""
    for decision in node.decisions:
        said = _told(decision, style)
        yield from _note(said, hanging, _DECISION_COLOURS.get(decision.decision, "cyan"), style)
    if node.error and not any(child.error == node.error for child in node.children):
        yield from _note(harmless(node.error), hanging, "red", style)
    if node.in_hook:
        yield from _note("made by a hook", hanging, "dim", style)
    if node.left_out:
        yield from _note(f"{node.left_out:,} operations inside are not shown", hanging, "dim", style)


def _told(decision: DecisionRecord, style: Style) -> str:
    reason = harmless(decision.reason)
    said = f"{decision.decision}: {harmless(decision.hook)} {_DONE.get(decision.decision, '')}".rstrip()
    code = f" ({decision.status_code})" if decision.status_code else ""
    return f"{said}{code}{style.separator}{reason}" if reason else f"{said}{code}"


def _note(text: str, hanging: str, colour: str, style: Style) -> Iterator[str]:
    for index, line in enumerate(wrap(text, style.width - len(hanging) - 2, NOTE_LINES, style)):
        yield style.paint(hanging, "dim") + ("  " if index else "") + style.paint(line, colour)


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
    """Tokens and cost of each model, one line each."""
    yield style.paint(title, "bold")
    rows = [(harmless(model), *_spent(used, style)) for model, used in by_model.items()]
    widths = [max(width(row[index]) for row in rows) for index in range(4)] if rows else []
    for model, *values in rows:
        name = model + " " * (widths[0] - width(model))
        shown = [value.rjust(columns) for value, columns in zip(values, widths[1:], strict=True)]
        yield GAP + GAP.join((name, *shown)).rstrip()


def _spent(used: Usage, style: Style) -> tuple[str, str, str]:
    cached = f" ({used.cache_read_tokens:,} cached)" if used.cache_read_tokens else ""
    thought = f" ({used.reasoning_tokens:,} reasoning)" if used.reasoning_tokens else ""
    return f"{used.input_tokens:,} in{cached}", f"{used.output_tokens:,} out{thought}", cost(used, style)


def duration(nanoseconds: int) -> str:
    """A duration in the unit that suits it."""
    if nanoseconds < 9_950_000:
        return f"{nanoseconds / 1e6:.1f} ms"
    if nanoseconds < 999_500_000:
        return f"{nanoseconds / 1e6:.0f} ms"
    if nanoseconds < 99_995_000_000:
        return f"{nanoseconds / 1e9:.2f} s"
    minutes, seconds = divmod(round(nanoseconds / 1e9), 60)
    return f"{minutes:,} min {seconds:02} s"


def cost(used: Usage, style: Style) -> str:
    """A cost in dollars; ``unpriced`` where no price is known, and at least so much where some are not."""
    if used.cost_usd is None:
        return "unpriced" if used.total_tokens else ""
    sign = ("≥" if style.unicode else ">=") if used.unpriced_tokens else ""
    return f"{sign}${used.cost_usd:.6f}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
