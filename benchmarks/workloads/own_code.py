"""The application's own code: a tool and a model call, which are operations if the process is instrumented."""

import sys

from benchmarks.workloads import Operation


def _search(query: str) -> str:
    return "result for " + query


def tool_call() -> Operation:
    own = sys.modules.get("spanhook")  # the control never imports it
    search = _search if own is None else own.tool(_search)
    return lambda: search("six times seven")


def block() -> Operation:
    own = sys.modules.get("spanhook")
    if own is None:
        return lambda: _search("six times seven")

    def operation() -> str:
        with own.operation("tool.execute", "search", request={"arguments": {"query": "six times seven"}}) as op:
            return op.result_of(_search(op.request.arguments["query"]))

    return operation
