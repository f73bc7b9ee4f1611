"""``python -m benchmarks``: measure, and print tables or JSON. Progress goes to standard error."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from typing import Any

from benchmarks import imports, memory, peers, printing, rounds
from benchmarks.terminal import machine, some, tell
from benchmarks.variants import BASE, CONTROL, VARIANTS, Variant, named
from benchmarks.workloads import CASES, ENDURANCE

_OTHERS = ("memory", "import")
_ROUNDS, _QUICK_ROUNDS = 20, 8
_REPEATS = 4
_QUICK_SHARE = 10
_IMPORTS, _QUICK_IMPORTS = 15, 5


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="What spanhook costs.")
    known = (*CASES, *_OTHERS)
    variants = [variant.name for variant in VARIANTS if variant.instrumented]
    parser.add_argument("--only", type=some(known), default=list(known), metavar="CASE,...", help=", ".join(known))
    parser.add_argument("--variants", type=some(variants), metavar="VARIANT,...", help=", ".join(variants))
    parser.add_argument("--peers", action="store_true", help="also other instrumentations that are installed here")
    parser.add_argument("--quick", action="store_true", help="fewer rounds of fewer operations: a first look")
    parser.add_argument("--rounds", type=int, help=f"how many rounds ({_ROUNDS} unless given)")
    parser.add_argument("--repeats", type=int, default=_REPEATS, help="how often to start over with new processes")
    parser.add_argument("--ops", type=int, help="operations per round, and calls of the memory cases")
    parser.add_argument("--core", type=int, default=_last_core(), help="the core to run on; -1 for any")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of tables")
    return parser.parse_args(given)


def _last_core() -> int:
    return max(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else -1


def _variants(wanted: list[str] | None, *, steps: bool) -> list[Variant]:
    """The control, the base, and the other requested variants; hooks for steps only if the case has steps."""
    chosen = [named(name) for name in wanted] if wanted else [one for one in VARIANTS if one.can_be_made]
    several = [one for one in chosen if one not in (CONTROL, BASE) and (steps or "*" not in one.kinds)]
    return [CONTROL, BASE, *several]


def main(given: Sequence[str] | None = None) -> int:
    options = _arguments(given)
    share = _QUICK_SHARE if options.quick else 1
    document: dict[str, Any] = {"machine": machine(), "cases": {}, "memory": {}, "import": None}
    for name in options.only:
        case = CASES.get(name)
        if case is None:
            continue
        if case.missing:
            tell(f"{name}: skipped: {case.missing}")
            document["cases"][name] = {"about": case.about, "skipped": case.missing}
            continue
        count = options.ops or case.count
        times = options.rounds or (_QUICK_ROUNDS if options.quick else _ROUNDS)
        variants = _variants(options.variants, steps=case.steps) + (peers.peers() if options.peers else [])
        document["cases"][name] = rounds.measure(
            case,
            variants,
            repeats=1 if options.quick else options.repeats,
            rounds=times,
            count=count,
            core=options.core,
            tell=tell,
        )
    if "memory" in options.only:
        for name, case in ENDURANCE.items():
            tell(f"memory: {name}")
            document["memory"][name] = (
                {"about": case.about, "skipped": case.missing}
                if case.missing
                else memory.measure(case, options.ops or case.count // share, options.core)
            )
    if "import" in options.only:
        tell("import")
        document["import"] = imports.measure(_QUICK_IMPORTS if options.quick else _IMPORTS)
    print(json.dumps(document, indent=2) if options.json else printing.tables(document))
    return 0


if __name__ == "__main__":
    sys.exit(main())
