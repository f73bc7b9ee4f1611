"""The tables of the README's section on cost, ready to be pasted: ``python -m benchmarks --readme``.

``python -m benchmarks.readme DOCUMENT...`` prints them from what ``python -m benchmarks --json`` gave, one document for
each environment: figures of spanhook come from the first that has them, those of other instrumentations from all.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks import printing
from benchmarks.variants import BASE, METER, MIXED, TARGET, UNSAMPLED, together

_PLAIN = (BASE.name, TARGET.name, MIXED.name)
_UNSAMPLED = (UNSAMPLED.name, together(TARGET, UNSAMPLED), together(MIXED, UNSAMPLED))
_METER = (METER.name, together(TARGET, METER), together(MIXED, METER))
ROWS: tuple[tuple[str, str, tuple[str, str, str]], ...] = (
    ("LLM call (LangChain)", "llm", _PLAIN),
    ("the same, not sampled", "llm", _UNSAMPLED),
    ("the same, with a meter provider", "llm", _METER),
    ("tool call (LangChain)", "tool", _PLAIN),
    ("agent run (LangGraph, 3 LLM calls, 2 tool calls)", "agent", _PLAIN),
    ("the same, with a meter provider", "agent", _METER),
    ("OpenAI chat completion", "chat", _PLAIN),
    ("OpenAI stream of 200 chunks", "stream", _PLAIN),
    ("the same, async", "stream_async", _PLAIN),
)
"""What a row says, its case, and its variants: without hooks, with three plain ones, with three mixed ones."""
_COSTS = ("", "library alone", "no hooks", "3 plain hooks", "3 mixed hooks", "bare SDK spans", "cheapest other")
_OTHERS = ("", "library alone", "spanhook, no hooks", "cheapest other")

Document = dict[str, Any]


def wanted() -> dict[str, list[str]]:
    """The variants that the first table needs, by case."""
    cases = dict.fromkeys(case for _, case, _ in ROWS)
    return {one: [name for _, case, variants in ROWS if case == one for name in variants] for one in cases}


def tables(documents: Sequence[Document]) -> str:
    """Both tables; the second only if another instrumentation was measured."""
    parts = [printing.table(_COSTS, [_row(about, case, names, documents) for about, case, names in ROWS])]
    others = list(_beside(documents))
    if others:
        parts.append(printing.table(_OTHERS, others))
    parts += [printing.machine(document["machine"]) for document in documents]
    return "\n\n".join(parts)


def _row(about: str, case: str, names: tuple[str, str, str], documents: Sequence[Document]) -> tuple[str, ...]:
    found = next((one for one in _measured(case, documents) if all(name in one["variants"] for name in names)), None)
    if found is None:
        return (about, *["not measured"] * (len(_COSTS) - 1))
    ours = [found["variants"][name] for name in names]
    costs = [_figure(one["overhead_us"]) for one in ours]
    other = _cheapest(case, documents)[1] if names == _PLAIN else ""
    return about, _figure(found["control_us"]), *costs, _figure(ours[0]["floor_us"]), other


def _beside(documents: Sequence[Document]) -> Iterator[tuple[str, ...]]:
    """Each case for which another instrumentation was measured, in the environment where that was."""
    names = dict.fromkeys(case for document in documents for case in document["cases"])
    for case in names:
        found, other = _cheapest(case, documents)
        if found is not None:
            ours = found["variants"][BASE.name]
            yield (
                found["about"],
                _figure(found["control_us"]),
                f"{_figure(ours['overhead_us'])} ({ours['spans']})",
                other,
            )


def _cheapest(case: str, documents: Sequence[Document]) -> tuple[Document | None, str]:
    """The other instrumentation that makes spans for the least time, by name and version, and where it was measured."""
    peers = [
        (told["overhead_us"], told["spans"], told["about"], found)
        for found in _measured(case, documents)
        for told in found["variants"].values()
        if told.get("peer") and told["spans"]
    ]
    if not peers:
        return None, "none measured"
    cost, spans, about, found = min(peers, key=lambda one: one[0])
    return found, f"{about}, {_figure(cost)} ({spans})"


def _measured(case: str, documents: Sequence[Document]) -> Iterator[Document]:
    for document in documents:
        found = document["cases"].get(case)
        if found is not None and "skipped" not in found:
            yield found


def _figure(microseconds: float) -> str:
    return f"{microseconds:,.0f}"


def main(given: Sequence[str]) -> int:
    if not given:
        print("usage: python -m benchmarks.readme DOCUMENT...", file=sys.stderr)
        return 2
    print(tables([json.loads(Path(path).read_text()) for path in given]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
