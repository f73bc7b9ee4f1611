"""An application that emits what its standard input asks for, and says how long its longest call took.

A line is a JSON object: how many ``logs``, how many ``spans``, and the ``bytes`` of content in each.
"""

import json
import sys
import time
from collections.abc import Callable

from opentelemetry import _logs, trace
from opentelemetry._logs import LogRecord

from spanhook import semconv

NAME = "told"


def main() -> None:
    """Do as told."""
    logger, tracer = _logs.get_logger(NAME), trace.get_tracer(NAME)

    def log(number: int, content: str) -> None:
        logger.emit(LogRecord(event_name=NAME, body=content, attributes={"number": number}))

    def span(number: int, content: str) -> None:
        tracer.start_span(NAME, attributes={"number": number, semconv.GEN_AI_INPUT_MESSAGES: content}).end()

    made = {"logs": 0, "spans": 0}
    emit: dict[str, Callable[[int, str], None]] = {"logs": log, "spans": span}
    for line in sys.stdin:
        told = json.loads(line)
        content, slowest = "x" * told["bytes"], 0.0
        for kind, one in emit.items():
            for _ in range(told[kind]):
                started = time.perf_counter()
                one(made[kind], content)
                slowest = max(slowest, time.perf_counter() - started)
                made[kind] += 1
        print(json.dumps({**made, "slowest": slowest}), flush=True)


if __name__ == "__main__":
    main()
