"""The benchmarks run and say what they measured; how fast anything was is not asserted anywhere."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from benchmarks import printing, readme
from benchmarks.__main__ import _arguments, _cases, _variants
from benchmarks.workloads import CASES

from tests.forking import children

ROOT = Path(__file__).parent.parent
TRACED = """
from langchain_core.tools import StructuredTool
from opentelemetry.instrumentation.instrumentor import BaseInstrumentor


class Traced(BaseInstrumentor):
    def instrumentation_dependencies(self):
        return ()

    def _instrument(self, tracer_provider):
        tracer, run = tracer_provider.get_tracer("traced"), StructuredTool.invoke

        def invoke(*args, **kwargs):
            with tracer.start_as_current_span("tool"):
                return run(*args, **kwargs)

        StructuredTool.invoke = invoke

    def _uninstrument(self):
        pass
"""


def measured(*arguments: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--json", "--quick", "--core", "-1", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_an_unknown_case_is_named_with_those_there_are() -> None:
    done = children.run("-m", "benchmarks", "--only", "nope", cwd=ROOT)
    assert done.returncode == 2
    assert "'nope' is none of llm, " in done.stderr


@pytest.mark.slow
def test_a_case_is_measured_against_control_and_bare_spans() -> None:
    case = measured("--only", "tool", "--variants", "3 hooks,sampler off", "--ops", "5", "--rounds", "2")["cases"][
        "tool"
    ]
    assert case["control_us"] > 0
    assert set(case["variants"]) == {"base", "3 hooks", "sampler off"}
    for name, variant in case["variants"].items():
        assert variant["spans"] == (0 if name == "sampler off" else 1)
        assert variant["floor_us"] > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "spans"),
    [
        ("llm", 1),
        ("llm_async", 1),
        ("llm_stream", 1),
        ("llm_stream_async", 1),
        ("tool_async", 1),
        ("own_tool", 1),
        ("own_block", 1),
        ("node", 1),
        ("agent", 6),
        ("agent_async", 6),
        ("chat", 1),
        ("chat_async", 1),
        ("stream", 1),
        ("stream_async", 1),
        ("anthropic", 1),
        ("mcp", 2),
    ],
)
def test_every_case_makes_the_spans_it_is_about(case: str, spans: int) -> None:
    found = measured("--only", case, "--variants", "meter", "--ops", "2", "--rounds", "2")["cases"][case]
    assert {variant["spans"] for variant in found["variants"].values()} == {spans}
    assert found["variants"]["meter"]["bytecode"] > found["variants"]["base"]["bytecode"] > 0


@pytest.mark.slow
def test_other_instrumentations_are_measured_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "traced.py").write_text(TRACED)
    told = tmp_path / "traced-1.0.dist-info"
    told.mkdir()
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: traced\nVersion: 1.0\n")
    (told / "entry_points.txt").write_text("[opentelemetry_instrumentor]\ntools = traced:Traced\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]))
    options = ("--peers", "--variants", "base", "--ops", "5", "--rounds", "2")
    variants = measured("--only", "tool", *options)["cases"]["tool"]["variants"]
    assert (variants["traced"]["about"], variants["traced"]["spans"]) == ("traced 1.0", 1)
    assert variants["base"]["spans"] == 1


@pytest.mark.slow
def test_concurrent_runs_memory_and_imports_are_measured() -> None:
    found = measured("--only", "concurrency,memory,import", "--ops", "40", "--rounds", "1")
    assert found["concurrency"]["runs"] == 40
    assert found["concurrency"]["ratio"] > 0
    assert set(found["memory"]) == {"calls", "streams", "failures", "runs"}
    for slopes in found["memory"].values():
        for side in ("control", "spanhook"):
            assert len(slopes[side]["looks"]) == 5
    assert found["import"]["spanhook_ms"] > 0


@pytest.mark.slow
def test_the_path_of_a_call_is_counted_and_its_files_are_named() -> None:
    document = measured("--only", "path")
    assert set(document["paths"]) == {"tool", "stream", "node"}
    for path in document["paths"].values():
        assert path["functions"] > len(path["files"]) == len(set(path["files"]))
        for file in path["files"]:
            assert (ROOT / "src" / "spanhook" / file).is_file()
    told = printing.tables(document)
    assert f"tool: {', '.join(document['paths']['tool']['files'])}" in told


def case_of(**overheads: float) -> Any:
    """A case as measured; names with an underscore are peers."""
    variants = {
        name.replace("_", "-"): {
            "about": f"{name.replace('_', '-')} 1.0",
            "peer": "_" in name,
            "overhead_us": cost,
            "error_us": 0.0,
            "everything_us": cost,
            "floor_us": 12.0,
            "ratio": cost / 12,
            "spans": 1,
        }
        for name, cost in overheads.items()
    }
    return {"about": "a case", "repeats": 1, "rounds": 2, "count": 3, "control_us": 85.0, "variants": variants}


def document_of(**cases: Any) -> Any:
    machine = {"python": "CPython", "processor": "x86_64", "versions": {}}
    return {"machine": machine, "cases": cases, "concurrency": None, "memory": {}, "import": None, "paths": {}}


def test_the_readme_table_has_the_cheapest_other_by_name_and_version(tmp_path: Path) -> None:
    chat = case_of(base=25, dear_one=300, cheap_one=70)
    chat["variants"] |= {"3 hooks": {**chat["variants"]["base"], "overhead_us": 31.0}}
    chat["variants"] |= {"mixed hooks": {**chat["variants"]["base"], "overhead_us": 43.0}}
    kept = tmp_path / "one.json"
    kept.write_text(json.dumps(document_of(chat=chat)))
    done = children.run("-m", "benchmarks.readme", kept, cwd=ROOT, check=True)
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in done.stdout.splitlines() if "|" in line]
    assert ["OpenAI chat completion", "85", "25", "31", "43", "12", "cheap-one 1.0, 70 (1)"] in rows
    assert ["a case", "85", "25 (1)", "cheap-one 1.0, 70 (1)"] in rows
    assert ["tool call (LangChain)", *["not measured"] * 6] in rows


@pytest.mark.slow
def test_the_readme_table_is_measured() -> None:
    document = measured("--readme", "--only", "tool,llm", "--ops", "2", "--rounds", "1")
    assert set(document["cases"]["tool"]["variants"]) == {"base", "3 hooks", "mixed hooks"}
    table = readme.tables([document]).splitlines()
    assert len([row for row in table if "not measured" in row]) == 5


def test_a_table_has_no_column_that_says_nothing() -> None:
    table = printing.tables(document_of(llm=case_of(base=25)))
    assert "+-" not in table
    assert "over base" not in table
    assert "overhead us" in table


def test_the_quick_form_leaves_out_what_takes_long() -> None:
    options = _arguments(["--quick"])
    chosen = _cases(options)
    assert set(chosen) - set(CASES) == {"import", "path"}
    for name in set(chosen) & set(CASES):
        variants = [variant.name for variant in _variants(options, CASES[name])]
        assert variants == ["control", "base", "3 hooks", "mixed hooks", "1 async hook"]


def test_the_pipeline_is_measured_without_pytest() -> None:
    program = (
        "import sys; sys.modules.update(pytest=None, yaml=None); from benchmarks.pipeline import main; main(['-h'])"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def piped(*arguments: str, **environ: str) -> Any:
    command = ("-m", "benchmarks.pipeline", "--json", "--quick", *arguments)
    done = children.run(*command, cwd=ROOT, env={**os.environ, **environ}, check=True, timeout=600)
    return json.loads(done.stdout)


def items(document: Any, part: str) -> set[str]:
    return {one["item"] for one in document["stages"] if one["part"] == part and one["per_cpu_second"] > 0}


@pytest.mark.slow
def test_spans_and_log_events_are_measured_against_bare_spans() -> None:
    found = piped("--only", "sdk")
    assert items(found, "sdk") == {"span of the bare SDK", "span alone", "whole operation", "log event"}
    assert found["stages"][0]["ratio"] == 1.0
    assert set(found["runs_per_core_day"]) == {"sdk"}


@pytest.mark.slow
def test_encoders_are_measured_beside_each_other() -> None:
    found = piped("--only", "encoder")
    kinds = {"span", "log event"}
    assert items(found, "encoder") == kinds | {f"{kind}, SDK's encoder" for kind in kinds}
    assert set(found["runs_per_core_day"]) == {"encoder"}


@pytest.mark.slow
def test_what_needs_a_collector_names_what_builds_it(tmp_path: Path) -> None:
    found = piped("--only", "exporter,collector", SPANHOOK_CI_CACHE=str(tmp_path))
    reason = f"no otelcol in {tmp_path / 'bin'}: .ci/tools otelcol builds it"
    assert found["skipped"] == {"exporter": reason, "collector": reason}
    assert items(found, "sdk") == {"span of the bare SDK"}


@pytest.mark.e2e
def test_exporter_and_collector_are_measured() -> None:
    found = piped("--only", "exporter,collector")
    assert found["skipped"] == {}
    assert items(found, "exporter") >= {"span", "log event"}
    assert items(found, "collector") == {"span", "log event"}
    assert set(found["bytes"]) == {"span", "log event", "trace held"}


@pytest.mark.slow
def test_the_control_plane_is_measured() -> None:
    pytest.importorskip("sqlalchemy", reason="the extra server is not installed")
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.control_plane", "--quick", "--json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    found = document["databases"]["sqlite"]
    assert found["ingest"]["spans"] == 20_480
    assert found["jobs"]["per_minute_of_cpu"] > 0
    assert found["answers_ms"].keys() >= {"runs: all", "one run", "statistics of hooks"}


@pytest.mark.slow
def test_the_control_plane_is_measured_under_load() -> None:
    pytest.importorskip("sqlalchemy", reason="the extra server is not installed")
    command = [sys.executable, "-m", "benchmarks.control_plane", "--json", "--minutes", "0.05", "--rate", "1000"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["looks"][-1]["spans"] > 0
    assert document["failed"] == document["failures"] == 0
