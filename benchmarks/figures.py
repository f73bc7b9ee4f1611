"""``python -m benchmarks.figures``: count instructions and visited files, compare with committed figures, fail if more.

``--renew`` writes the figures of this version of Python instead. They are exact, so a busy machine changes nothing.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import hardware, printing
from benchmarks.counting import Counts, counts
from benchmarks.paths import PATHS, counted, traced
from benchmarks.terminal import machine, some, tell
from benchmarks.variants import NEEDED, TOGETHER, USUAL, VARIANTS, Variant, named
from benchmarks.workloads import CASES

FIGURES = Path(__file__).with_name("figures.json")
RENEW = "python -m benchmarks.figures --renew"
TOLERATED = 0.10
"""The share by which a count may rise."""
_OF_PATHS = ("files", "functions", "returns")
"""Sorts of counts of ``benchmarks.paths``, which may not rise at all."""

_EVERYWHERE = (*USUAL, "sampler off", "meter")
_EXACT = {
    "llm": tuple(one.name for one in (*VARIANTS, *TOGETHER) if one.instrumented and one.ready not in NEEDED),
    "node": ("base", PATHS["node"]),
    "agent": (*_EVERYWHERE, "3 hooks on *", "parent not sampled", "logger", *(variant.name for variant in TOGETHER)),
}
_CASES = (
    "llm",
    "llm_async",
    "llm_stream",
    "llm_stream_async",
    "tool",
    "tool_async",
    "own_tool",
    "own_block",
    "node",
    "agent",
    "agent_async",
    "chat",
    "chat_async",
    "stream",
    "stream_async",
)
_LIBRARIES = ("langchain-core", "langchain", "langgraph", "openai", "opentelemetry-sdk", "wrapt")

Figures = dict[str, Any]
"""Of one version of Python: ``versions`` of libraries, and ``counts`` by case, sort of count and variant."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One count, as committed and as it is now.

    Attributes:
        before: ``None`` if it was not committed.
    """

    case: str
    sort: str
    variant: str
    before: float | None
    now: float

    @property
    def share(self) -> float:
        """By which share it rose; 0 if it was not committed."""
        return self.now / self.before - 1 if self.before else 0.0

    @property
    def refused(self) -> bool:
        """Whether the comparison fails because of it."""
        return self.before is None or self.share > (0 if self.sort in _OF_PATHS else TOLERATED)


def wanted(only: Sequence[str] = _CASES) -> dict[str, list[Variant]]:
    """The variants that are counted, by the names of the cases whose libraries are here."""
    return {
        name: [named(variant) for variant in _EXACT.get(name, _EVERYWHERE)] for name in only if not CASES[name].missing
    }


def differences(found: Mapping[str, Counts], committed: Mapping[str, Counts]) -> Iterator[Difference]:
    """Every count that was made here, beside the committed one; hardware counts only if such were committed."""
    by_machine = any("hardware" in sorts for sorts in committed.values())
    for case, sorts in found.items():
        for sort, by_variant in sorts.items():
            if sort == "hardware" and not by_machine:
                continue
            for variant, now in by_variant.items():
                before = committed.get(case, {}).get(sort, {}).get(variant)
                yield Difference(case, sort, variant, before, now)


def _found(only: Sequence[str]) -> dict[str, Counts]:
    """Everything that is compared, of these cases."""
    found = counts(wanted(only))
    for name in found:
        if name in PATHS:
            path = counted(traced(name))
            lengths = (len(path.files), path.functions, path.returns)
            found[name] |= {sort: {PATHS[name]: length} for sort, length in zip(_OF_PATHS, lengths, strict=True)}
    return found


def _versions() -> dict[str, str]:
    return machine(_LIBRARIES)["versions"]


def _minor() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def _table(rows: Sequence[Difference]) -> str:
    def figure(value: float | None) -> str:
        if value is None:
            return "none"
        return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3f}"

    heads = ("case", "count", "committed", "now", "change", "variant")
    told = [
        (
            one.case,
            one.sort,
            figure(one.before),
            figure(one.now),
            f"{one.share:+.1%}" if one.before else "",
            one.variant,
        )
        for one in rows
    ]
    return printing.table(heads, told)


def _changed(here: Mapping[str, str], then: Mapping[str, str]) -> str:
    changed = [
        f"{name} {then.get(name, 'unknown')}, here {version}"
        for name, version in here.items()
        if then.get(name) != version
    ]
    return f"The figures were made with other versions: {'; '.join(changed)}." if changed else ""


def _compared(found: Mapping[str, Counts], committed: Figures) -> tuple[list[str], bool]:
    """What to print, and whether it is good."""
    every = list(differences(found, committed["counts"]))
    other = [one for one in every if one.before is None or one.now != one.before]
    refused = [one for one in every if one.refused]
    parts = [_changed(_versions(), committed["versions"])]
    if not hardware.given():
        parts.append("The kernel gives no hardware counts here: bytecode instructions alone.")
    parts.append(f"{len(every)} counts per operation, {len(every) - len(other)} as committed.")
    if other:
        parts.append(_table(sorted(other, key=lambda one: -one.share)))
    if refused:
        new = sum(one.before is None for one in refused)
        longer = sum(one.before is not None and one.sort in _OF_PATHS for one in refused)
        rose = len(refused) - new - longer
        told = (
            f"{rose} rose by more than {TOLERATED:.0%}" if rose else "",
            f"{longer} of a path rose" if longer else "",
            f"{new} have no committed figure" if new else "",
        )
        parts.append(f"{' and '.join(filter(None, told))}; if that is meant: {RENEW}")
    return [part for part in parts if part], not refused


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.figures", description="Instructions per operation.")
    parser.add_argument("--only", type=some(_CASES), default=list(_CASES), metavar="CASE,...", help=", ".join(_CASES))
    parser.add_argument("--renew", action="store_true", help="write the figures of this version of Python")
    parser.add_argument("--figures", type=Path, default=FIGURES, help="the file of figures")
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> int:
    options = _arguments(given)
    known: dict[str, Figures] = json.loads(options.figures.read_text()) if options.figures.exists() else {}
    committed = known.get(_minor())
    if committed is None and not options.renew:
        print(f"There are no figures for Python {_minor()}, so nothing is compared. To make them: {RENEW}")
        return 0
    tell(f"figures: {', '.join(options.only)}")
    found = _found(options.only)
    if not options.renew:
        assert committed is not None
        parts, good = _compared(found, committed)
        print("\n\n".join(parts))
        return 0 if good else 1
    kept: dict[str, Counts] = committed["counts"] if committed is not None else {}
    known[_minor()] = {"versions": _versions(), "counts": {**kept, **found}}
    options.figures.write_text(json.dumps(known, indent=2, sort_keys=True) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
