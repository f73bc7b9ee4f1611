"""Instructions are counted exactly, and compared with the committed figures; no time is measured here."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from benchmarks import figures, hardware
from benchmarks.counting import counts
from benchmarks.figures import differences, wanted
from benchmarks.paths import PATHS, Visit, counted, traced
from docs.pictures import operation

pytestmark = pytest.mark.slow  # figures are of one version of Python, the one that slow tests run on

ROOT = Path(__file__).parent.parent
LENGTHS = {"files", "functions", "returns"}


@pytest.mark.slow
@pytest.mark.parametrize("case", ["tool", "agent_async", "stream"])
def test_instructions_of_each_variant_are_counted_and_the_same_again(case: str) -> None:
    variants = wanted([case])[case]
    first, again = (counts({case: variants})[case]["bytecode"] for _ in range(2))
    assert set(first) == {variant.name for variant in variants}
    for name, count in first.items():
        assert 0 < count == pytest.approx(again[name], rel=figures.TOLERATED)
    assert first["base"] < first["3 hooks"] < first["mixed hooks"]


def test_bytecode_is_counted_in_counted_files_of_all_threads() -> None:
    program = """
import threading
from benchmarks.bytecode import Bytecode
from benchmarks.setting import _nothing
counter = Bytecode((_nothing.__code__.co_filename,))
def within():
    thread = threading.Thread(target=_nothing, args=(None,))
    thread.start()
    thread.join()
print(counter.of(lambda: _nothing(None)), counter.of(within), counter.of(lambda: len("x")))
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    one, in_thread, none = map(int, done.stdout.split())
    assert one == in_thread > 0
    assert none == 0


@pytest.mark.skipif(sys.platform != "linux", reason="performance counters are the Linux kernel's")
def test_the_kernel_counts_what_a_process_and_its_threads_do() -> None:
    if not hardware.given(hardware.TASK_CLOCK):
        pytest.skip("this kernel lets nobody count")

    def work() -> None:
        thread = threading.Thread(target=sum, args=(range(1_000_000),))
        thread.start()
        thread.join()

    with hardware.Counter(hardware.TASK_CLOCK) as counter:
        assert counter.of(work) > counter.of(lambda: None) >= 0
        assert counter.read() > 0


def test_a_path_has_the_functions_of_spanhook_and_goes_back_to_files_that_were_left() -> None:
    first, second, other = "spanhook/engine/calls.py", "spanhook/engine/beginning.py", "opentelemetry/trace/span.py"
    path = [(first, "call"), (second, "begin"), (second, "_hook"), (other, "is_valid"), (second, "begin"), (first, "x")]
    assert counted(Visit(*visit) for visit in path) == (["engine/calls.py", "engine/beginning.py"], 4, 1)


def test_the_picture_of_one_operation_shows_what_is_visited() -> None:
    drawn = operation.picture(traced(operation.CASE))
    assert operation.TARGET.read_text() == drawn, f"if that is meant: {operation.COMMAND}"


def test_a_picture_without_a_step_is_not_drawn() -> None:
    with pytest.raises(ValueError, match="steps begin with"):
        operation.picture([Visit("spanhook/engine/calls.py", "call")])


def test_what_the_kernel_does_not_count_is_not_given() -> None:
    nothing = hardware.Event(kind=1, config=9_999)
    assert not hardware.given(nothing)
    with pytest.raises(OSError):
        hardware.Counter(nothing)


def compared(folder: Path, change: Callable[[Any], None]) -> subprocess.CompletedProcess[str]:
    """The command, for one case, with figures of its own that were changed."""
    kept = folder / "figures.json"
    command = [sys.executable, "-m", "benchmarks.figures", "--only", "own_tool", "--figures", str(kept)]
    subprocess.run([*command, "--renew"], cwd=ROOT, check=True, capture_output=True)
    document = json.loads(kept.read_text())
    (of_this_python,) = document.values()
    change(of_this_python)
    kept.write_text(json.dumps(document))
    return subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)


def test_a_rise_fails_and_names_what_renews_the_figures(tmp_path: Path) -> None:
    def lower(known: Any) -> None:
        known["counts"]["own_tool"]["bytecode"]["3 hooks"] *= 0.8

    done = compared(tmp_path, lower)
    assert done.returncode == 1, done.stderr
    assert "+25." in done.stdout
    assert "1 rose by more than 10%; if that is meant: python -m benchmarks.figures --renew" in done.stdout


def test_other_versions_are_named_and_compared_all_the_same(tmp_path: Path) -> None:
    def older(known: Any) -> None:
        known["versions"]["wrapt"] = "0.1"

    done = compared(tmp_path, older)
    assert done.returncode == 0, done.stdout
    assert "The figures were made with other versions: wrapt 0.1, here " in done.stdout


def test_without_figures_of_this_python_nothing_is_compared(tmp_path: Path) -> None:
    kept = tmp_path / "figures.json"
    command = [sys.executable, "-m", "benchmarks.figures", "--figures", str(kept)]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert (done.returncode, kept.exists()) == (0, False)
    assert done.stdout.endswith("To make them: python -m benchmarks.figures --renew\n")


def test_a_rise_of_either_count_is_refused_and_so_is_one_without_a_figure() -> None:
    committed = {"llm": {"bytecode": {"base": 1_000.0}, "hardware": {"base": 1.2}}}
    found = {"llm": {"bytecode": {"base": 1_090.0, "meter": 5.0}, "hardware": {"base": 1.4}}}
    refused = {(one.sort, one.variant): one.refused for one in differences(found, committed)}
    assert refused == {("bytecode", "base"): False, ("bytecode", "meter"): True, ("hardware", "base"): True}


def test_a_path_may_not_get_longer_at_all() -> None:
    committed = {"tool": {"files": {"mixed hooks": 28.0}, "returns": {"mixed hooks": 21.0}}}
    found = {"tool": {"files": {"mixed hooks": 29.0}, "returns": {"mixed hooks": 20.0}}}
    assert [(one.sort, one.refused) for one in differences(found, committed)] == [("files", True), ("returns", False)]


def test_hardware_counts_without_committed_ones_are_not_compared() -> None:
    found = {"llm": {"bytecode": {"base": 900.0}, "hardware": {"base": 9.0}}}
    assert [one.sort for one in differences(found, {"llm": {"bytecode": {"base": 1_000.0}}})] == ["bytecode"]


def test_figures_are_of_cases_and_variants_that_there_are() -> None:
    for of_one_python in json.loads(figures.FIGURES.read_text()).values():
        for case, sorts in of_one_python["counts"].items():
            assert LENGTHS & set(sorts) == (LENGTHS if case in PATHS else set())
            for sort, by_variant in sorts.items():
                measured = {PATHS[case]} if sort in LENGTHS else {variant.name for variant in wanted([case])[case]}
                assert set(by_variant) == measured
