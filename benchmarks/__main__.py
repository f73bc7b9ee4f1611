"""``python -m benchmarks``: measure, and print tables or JSON. Progress goes to standard error."""

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks import concurrency, imports, memory, paths, peers, printing, readme, rounds
from benchmarks.counting import counts
from benchmarks.terminal import machine, some, tell
from benchmarks.variants import BASE, CONTROL, TOGETHER, USUAL, VARIANTS, Variant, named
from benchmarks.workloads import CASES, ENDURANCE, Case

_OTHERS = ("concurrency", "memory", "import", "path")
_QUICK = ("llm", "llm_stream", "tool", "agent", "agent_async", "chat", "stream", "stream_async", "import", "path")
_ROUNDS, _QUICK_ROUNDS = 20, 4
_REPEATS = 4
_QUICK_SHARE = 2
"""By which the number of operations in a round is divided."""
_IMPORTS, _QUICK_IMPORTS = 15, 3


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="What spanhook costs.")
    known = (*CASES, *_OTHERS)
    variants = [variant.name for variant in (*VARIANTS, *TOGETHER) if variant.instrumented]
    parser.add_argument("--only", type=some(known), metavar="CASE,...", help=", ".join(known))
    parser.add_argument("--variants", type=some(variants), metavar="VARIANT,...", help=", ".join(variants))
    parser.add_argument("--peers", action="store_true", help="also other instrumentations that are installed here")
    parser.add_argument("--quick", action="store_true", help="a first look: fewer cases, variants and rounds")
    parser.add_argument("--readme", action="store_true", help="what the README's table needs, printed as that table")
    parser.add_argument("--rounds", type=int, help=f"how many rounds ({_ROUNDS})")
    parser.add_argument("--repeats", type=int, default=_REPEATS, help="how often to start over with new processes")
    parser.add_argument("--ops", type=int, help="operations per round, calls of the memory cases, runs at once")
    parser.add_argument("--core", type=int, default=_last_core(), help="the core to run on; -1 for any")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of tables")
    return parser.parse_args(given)


def _last_core() -> int:
    return max(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else -1


def _cases(options: argparse.Namespace) -> list[str]:
    if options.only:
        return options.only
    if options.readme:
        return list(readme.wanted())
    return list(_QUICK if options.quick else (*CASES, *_OTHERS))


def _variants(options: argparse.Namespace, case: Case) -> list[Variant]:
    """The control, the base, the other requested variants, and peers; hooks for steps only if the case has steps."""
    usual = readme.wanted().get(case.name) if options.readme else USUAL if options.quick else None
    wanted: Sequence[str] | None = options.variants or usual
    chosen = [named(name) for name in wanted] if wanted else [one for one in VARIANTS if one.can_be_made]
    several = [one for one in chosen if one not in (CONTROL, BASE) and (case.steps or "*" not in one.kinds)]
    return [CONTROL, BASE, *several, *(peers.peers() if options.peers else [])]


def _measured(case: Case, options: argparse.Namespace) -> dict[str, Any]:
    """CPU time of one case."""
    if case.missing:
        tell(f"{case.name}: skipped: {case.missing}")
        return {"about": case.about, "skipped": case.missing}
    return rounds.measure(
        case,
        _variants(options, case),
        repeats=1 if options.quick else options.repeats,
        rounds=options.rounds or (_QUICK_ROUNDS if options.quick else _ROUNDS),
        count=options.ops or (max(1, case.count // _QUICK_SHARE) if options.quick else case.count),
        core=options.core,
        tell=tell,
    )


def _count(cases: Mapping[str, dict[str, Any]], options: argparse.Namespace) -> None:
    """Add exact counts to the measured cases."""
    wanted = {name: _variants(options, CASES[name]) for name, case in cases.items() if "skipped" not in case}
    if not wanted:
        return
    tell(f"instructions: {', '.join(wanted)}")
    for name, sorts in counts(wanted).items():
        for sort, by_variant in sorts.items():
            for variant, found in by_variant.items():
                cases[name]["variants"][variant][sort] = found


def _remembered(case: Case, options: argparse.Namespace) -> dict[str, Any]:
    """Whether one case leaves anything in memory."""
    tell(f"memory: {case.name}")
    if case.missing:
        return {"about": case.about, "skipped": case.missing}
    return memory.measure(case, options.ops or case.count, options.core)


def _visited(name: str) -> dict[str, Any]:
    """How long the path of one case is."""
    tell(f"path: {name}")
    return paths.measure(name)


def main(given: Sequence[str] | None = None) -> int:
    options = _arguments(given)
    names = _cases(options)
    document: dict[str, Any] = {"machine": machine()}
    document["cases"] = {name: _measured(CASES[name], options) for name in names if name in CASES}
    _count(document["cases"], options)
    document["concurrency"] = _crowded(options) if "concurrency" in names else None
    document["memory"] = {}
    if "memory" in names:
        document["memory"] = {name: _remembered(case, options) for name, case in ENDURANCE.items()}
    document["import"] = None
    if "import" in names:
        tell("import")
        document["import"] = imports.measure(_QUICK_IMPORTS if options.quick else _IMPORTS)
    document["paths"] = {name: _visited(name) for name in (paths.PATHS if "path" in names else ())}
    if options.json:
        print(json.dumps(document, indent=2))
    else:
        print(readme.tables([document]) if options.readme else printing.tables(document))
    return 0


def _crowded(options: argparse.Namespace) -> dict[str, Any]:
    """Many agent runs at once."""
    case = CASES["agent_async"]
    if case.missing:
        return {"about": case.about, "skipped": case.missing}
    times = options.rounds or concurrency.ROUNDS
    return concurrency.measure(case, options.ops or concurrency.RUNS, times, options.core, tell)


if __name__ == "__main__":
    sys.exit(main())
