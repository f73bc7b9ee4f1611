"""The tables for people.

``bytecode`` is how many bytecode instructions spanhook, OpenTelemetry and hooks execute per operation,
``x instructions`` how many machine instructions the process takes, as a multiple of the uninstrumented one's.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from benchmarks.variants import BASE


def tables(document: dict[str, Any]) -> str:
    """Everything that was measured, as Markdown."""
    parts = [machine(document["machine"])]
    parts += [_case(name, case) for name, case in document["cases"].items()]
    if document["concurrency"]:
        parts.append(_concurrency(document["concurrency"]))
    if document["memory"]:
        parts.append(_memory(document["memory"]))
    if document["import"]:
        parts.append(_import(document["import"]))
    if document["paths"]:
        parts.append(_paths(document["paths"]))
    return "\n\n".join(parts)


def machine(told: dict[str, Any]) -> str:
    """The machine and versions used."""
    versions = ", ".join(f"{name} {version}" for name, version in told["versions"].items())
    return f"{told['python']} on {told['processor']}; {versions}"


def _case(name: str, case: dict[str, Any]) -> str:
    title = f"## {name}: {case['about']}"
    if "skipped" in case:
        return f"{title}\n\nskipped: {case['skipped']}"
    base = case["variants"].get(BASE.name)
    rows = [
        (
            variant,
            f"{told['overhead_us']:.1f}",
            f"{told['error_us']:.1f}" if case["repeats"] > 1 else "",
            f"{told['overhead_us'] - base['overhead_us']:+.1f}" if base is not None and told is not base else "",
            f"{told['everything_us']:.1f}",
            f"{told['bytecode']:,.0f}" if "bytecode" in told else "",
            f"{told['hardware']:.3f}" if "hardware" in told else "",
            str(told["spans"]),
            f"{told['floor_us']:.1f}" if told["floor_us"] else "",
            f"{told['ratio']:.2f}" if told["floor_us"] else "",
            told["about"],
        )
        for variant, told in case["variants"].items()
    ]
    heads = (
        "variant",
        "overhead us",
        "+-",
        "over base",
        "with GC, export",
        "bytecode",
        "x instructions",
        "spans",
        "bare SDK spans us",
        "x bare spans",
        "",
    )
    taken = f"{case['repeats']} times {case['rounds']} rounds of {case['count']}"
    about = f"Not instrumented: {case['control_us']:.1f} us per operation; {taken}."
    return f"{title}\n\n{about}\n\n{table(*_meaningful(heads, rows))}"


def _meaningful(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[list[str], list[list[str]]]:
    """Without the columns that say nothing in any row."""
    kept = [column for column in range(len(heads)) if column == len(heads) - 1 or any(row[column] for row in rows)]
    return [heads[column] for column in kept], [[row[column] for column in kept] for row in rows]


def _concurrency(told: dict[str, Any]) -> str:
    title = "## Concurrency"
    if "skipped" in told:
        return f"{title}\n\nskipped: {told['skipped']}"
    rows = [(name, f"{figure:.0f}") for name, figure in told["per_cpu_second"].items()]
    about = f"{told['runs']:,} runs at once, median of {told['rounds']} rounds: {told['about']}; {told['variant']}."
    ratios = (
        f"Throughput, spanhook over control: {told['ratio']:.1%} by CPU time, {told['wall_ratio']:.1%} by wall time."
    )
    return f"{title}\n\n{about}\n\n{table(('process', 'runs per s of CPU'), rows)}\n\n{ratios}"


def _memory(memory: dict[str, Any]) -> str:
    rows = [
        (
            name,
            str(case["calls"]),
            *(f"{case[who][what]:+.1f}" for what in ("bytes_per_call", "objects_per_call") for who in _WHO),
            case["about"],
        )
        if "skipped" not in case
        else (name, *["-"] * 5, f"skipped: {case['skipped']}")
        for name, case in memory.items()
    ]
    heads = ("work", "calls", "bytes/call", "control", "objects/call", "control", "")
    return f"## Memory: growth per call\n\n{table(heads, rows)}"


_WHO = ("spanhook", "control")


def _import(told: dict[str, Any]) -> str:
    rows = [
        (name, f"{told[f'{name}_ms']:.0f}", f"{told[f'{name}_cpu_ms']:.0f}") for name in ("opentelemetry", "spanhook")
    ]
    about = "What `import spanhook` adds once OpenTelemetry's own modules are imported; the least of several times."
    return f"## Import\n\n{about}\n\n{table(('import', 'wall ms', 'CPU ms'), rows)}"


def _paths(paths: dict[str, Any]) -> str:
    about = (
        "Which of spanhook's files and functions a warm call visits, and how often it comes back to a file that it has "
        "left; the same each time."
    )
    told = {name: path for name, path in paths.items() if "skipped" not in path}
    rows = [
        (name, str(len(one["files"])), str(one["functions"]), str(one["returns"]), f"{one['about']}; {one['variant']}")
        for name, one in told.items()
    ]
    lists = [f"{name}: {', '.join(path['files'])}" for name, path in told.items()]
    skipped = [f"{name}: skipped: {path['skipped']}" for name, path in paths.items() if "skipped" in path]
    counted = table(("case", "files", "functions", "returns", ""), rows)
    return "\n\n".join(("## Path", about, counted, *lists, *skipped))


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Rows as a Markdown table, whose first and last columns are text."""
    lines = [heads, *rows]
    widths = [max(3, *(len(line[column]) for line in lines)) for column in range(len(heads))]
    last = len(heads) - 1

    def cell(text: str, column: int) -> str:
        return text.ljust(widths[column]) if column in (0, last) else text.rjust(widths[column])

    drawn = ["| " + " | ".join(cell(text, column) for column, text in enumerate(line)) + " |" for line in lines]
    rule = ["-" * width + ("-" if column in (0, last) else ":") for column, width in enumerate(widths)]
    return "\n".join([drawn[0], "|-" + "|-".join(rule) + "|", *drawn[1:]])
