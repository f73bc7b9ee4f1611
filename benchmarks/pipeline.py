"""What the telemetry pipeline costs, from operations to the collector, in items per CPU second and beside a control.

Run it as ``python -m benchmarks.pipeline``. Exporter and collector need what ``.ci/tools otelcol`` builds; if
SPANHOOK_CI_OPTIMIZED is not set for that, the collector takes up to twice the CPU time of a published one. CPU seconds
are those of the measured process, so that a busy machine changes little; progress goes to standard error.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.e2e.programs import CACHE, program
from tests.e2e.stack import pipe

from benchmarks import payloads, printing, receiving, sending
from benchmarks.process import environment
from benchmarks.sending import CONTROL, OPERATION, Cost
from benchmarks.terminal import machine, some

PARTS = ("sdk", "encoder", "exporter", "collector")
LIBRARIES = ("opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http", "protobuf", "grpcio")
EVENTS_PER_RUN = 1.3
"""One for the end of the run, and some for decisions."""
DAY_NS = 86_400e9

_ROUNDS, _QUICK_ROUNDS = 200, 20
_SECONDS, _QUICK_SECONDS = 10.0, 1.0
_HELD, _QUICK_HELD = 20_000, 2_000


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pipeline", description="What telemetry costs.")
    parser.add_argument("--only", type=some(PARTS), default=list(PARTS), metavar="PART,...", help=", ".join(PARTS))
    parser.add_argument("--quick", action="store_true", help="fewer items: a first look")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of tables")
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> int:
    options = _arguments(given)
    for name in os.environ.keys() - environment().keys():
        del os.environ[name]
    wanted = [part for part in PARTS if part in options.only]
    skipped = {}
    if program("otelcol") is None:
        reason = f"no otelcol in {CACHE}: .ci/tools otelcol builds it"
        skipped = {part: reason for part in wanted if part in ("exporter", "collector")}
    document = _measured([part for part in wanted if part not in skipped], quick=options.quick)
    document["skipped"] = skipped
    print(json.dumps(document, indent=2) if options.json else _tables(document))
    return 0


def _measured(wanted: list[str], *, quick: bool) -> dict[str, Any]:
    """The control, with which everything is compared, and the requested parts."""
    costs = _own(_QUICK_ROUNDS if quick else _ROUNDS, wanted)
    control = next(one for one in costs if (one.part, one.item) == CONTROL)
    kept = [one for one in costs if one is control or one.part in wanted]
    size: dict[str, int] = {}
    if "collector" in wanted:
        for cost, size[cost.item] in receiving.costs(_QUICK_SECONDS if quick else _SECONDS):
            kept.append(cost)
        size["trace held"] = receiving.held(_QUICK_HELD if quick else _HELD)
    return {
        "machine": machine(LIBRARIES),
        "spans_per_run": payloads.SPANS_PER_RUN,
        "events_per_run": EVENTS_PER_RUN,
        "stages": [
            {
                "part": one.part,
                "item": one.item,
                "per_cpu_second": round(1e9 / one.nanoseconds),
                "cpu_us": round(one.nanoseconds / 1e3, 2),
                "ratio": round(one.ratio, 2),
            }
            for one in kept
        ],
        "bytes": size,
        "runs_per_core_day": {part: _runs(kept, part) for part in wanted},
    }


def _own(rounds: int, wanted: list[str]) -> list[Cost]:
    encoding = "encoder" in wanted
    if "exporter" not in wanted:
        return list(sending.costs(rounds, None, encoding=encoding))
    with tempfile.TemporaryDirectory() as folder, pipe(Path(folder), receiving.SETTINGS) as one:
        return list(sending.costs(rounds, (one.endpoint, one.grpc_endpoint), encoding=encoding))


def _runs(costs: list[Cost], part: str) -> int:
    """How many runs a day keep one core busy with this part of the pipeline alone."""
    spent = {one.item: one.nanoseconds for one in costs if one.part == part}
    span = spent[OPERATION] if part == "sdk" else spent["span"]
    return round(DAY_NS / (payloads.SPANS_PER_RUN * span + EVENTS_PER_RUN * spent["log event"]))


def _tables(document: dict[str, Any]) -> str:
    rows = [
        (
            one["part"],
            f"{one['per_cpu_second']:,}",
            f"{one['cpu_us']:.1f}",
            f"{one['ratio']:.2f}",
            f"{document['runs_per_core_day'][one['part']]:,}" if one["item"] in ("span", OPERATION) else "",
            one["item"],
        )
        for one in document["stages"]
    ]
    heads = ("part", "per s of CPU", "us of CPU", "x bare spans", "runs a day", "item")
    parts = [printing.machine(document["machine"]), printing.table(heads, rows)]
    per_run = f"{document['spans_per_run']} spans and {document['events_per_run']} log events"
    parts.append(f"Runs a day: what keeps one core busy with that part alone, of {per_run} each.")
    if document["bytes"]:
        parts.append("Bytes: " + ", ".join(f"a {name} {size:,}" for name, size in document["bytes"].items()))
    parts += [f"{part}: skipped: {reason}" for part, reason in document["skipped"].items()]
    return "\n\n".join(parts)


if __name__ == "__main__":
    sys.exit(main())
