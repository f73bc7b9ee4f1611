"""Exact counts beside CPU time: instructions per operation of each variant.

A process without spanhook imports the libraries; each variant of each case runs in a fork of it.
"""

import json
import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from statistics import median
from typing import Any, TypeVar

from benchmarks import hardware, peers
from benchmarks.bytecode import Bytecode, roots
from benchmarks.child import Child
from benchmarks.process import ROOT, ChildError, environment
from benchmarks.providers import surroundings
from benchmarks.variants import CONTROL, Variant
from benchmarks.workloads import CASES, Case

Result = TypeVar("Result")

_WARM = 6
_COUNTED = 5
"""Operations that are counted, each on its own; the median is the figure."""
_MACHINE_COUNTED = 20

Counts = dict[str, dict[str, float]]
"""``bytecode`` and, where the kernel gives it, ``hardware`` by the names of variants."""


def counts(wanted: Mapping[str, Sequence[Variant]]) -> dict[str, Counts]:
    """Instructions per operation, by the names of cases.

    ``bytecode`` is how many bytecode instructions spanhook (or the peer), OpenTelemetry and hooks execute,
    ``hardware`` how many machine instructions the process takes, as a multiple of the uninstrumented control's.

    Args:
        wanted: Variants by the names of cases.

    Raises:
        ChildError: Something failed there; the message is the process's standard error.
    """
    request = {case: [variant.as_json() for variant in variants] for case, variants in wanted.items()}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.counting"],
        input=json.dumps(request),
        env=environment(),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise ChildError(done.stderr or f"the process ended with code {done.returncode}")
    return json.loads(done.stdout)


def _counted(wanted: Mapping[str, Sequence[Variant]]) -> dict[str, Counts]:
    by_machine = hardware.given()
    cases = {name: CASES[name] for name in wanted}
    for case in cases.values():
        import_module(f"benchmarks.workloads.{case.make.partition(':')[0]}")
    controls = {name: _forked(_machine, case, CONTROL) for name, case in cases.items()} if by_machine else {}
    found: dict[str, Counts] = {}
    for name, case in cases.items():
        variants = [variant for variant in wanted[name] if variant.instrumented]
        for module in _forked(_modules, case, variants[0]):
            import_module(module)
        found[name] = {"bytecode": {one.name: _forked(_bytecode, case, one) for one in variants}}
        if by_machine:
            taken = {one.name: _forked(_machine, case, one) for one in variants}
            found[name]["hardware"] = {variant: one / controls[name] for variant, one in taken.items()}
    return found


def _modules(case: Case, variant: Variant) -> list[str]:
    """What each fork would import again."""
    Child(case.name, variant).once()
    return [name for name in sys.modules if name.partition(".")[0] in ("spanhook", "opentelemetry")]


def _bytecode(case: Case, variant: Variant) -> float:
    counter = Bytecode(roots(*peers.packages(variant.peer)))
    child = Child(case.name, variant)
    with surroundings(variant):
        for _ in range(_WARM):
            child.once()
        return median(counter.of(child.once) for _ in range(_COUNTED))


def _machine(case: Case, variant: Variant) -> float:
    with hardware.Counter() as counter:
        child = Child(case.name, variant)
        with surroundings(variant):
            for _ in range(_WARM):
                child.once()
            return median(counter.of(child.once) for _ in range(_MACHINE_COUNTED))


def _forked(count: Callable[[Case, Variant], Result], case: Case, variant: Variant) -> Result:
    """What ``count`` gives, as JSON, in a fork of this process."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            with os.fdopen(write, "w") as answer:
                json.dump(count(case, variant), answer)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    os.close(write)
    with os.fdopen(read) as answer:
        told = answer.read()
    _, status = os.waitpid(pid, 0)
    if status:
        raise ChildError(f"{case.name}, {variant.name}: ended with code {os.waitstatus_to_exitcode(status)}")
    return json.loads(told)


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # output of libraries must not mix with the answer
    request: dict[str, list[Any]] = json.load(sys.stdin)
    wanted = {case: [Variant.from_json(one) for one in variants] for case, variants in request.items()}
    print(json.dumps(_counted(wanted)), file=answers, flush=True)


if __name__ == "__main__":
    main()
