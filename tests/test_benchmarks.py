"""The benchmarks run and say what they measured; how fast anything was is not asserted anywhere."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

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
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--only", "nope"], cwd=ROOT, capture_output=True, text=True, check=False
    )
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
        ("own_tool", 1),
        ("own_block", 1),
        ("agent", 6),
        ("agent_async", 6),
        ("chat", 1),
        ("chat_async", 1),
        ("stream", 1),
        ("anthropic", 1),
        ("mcp", 2),
    ],
)
def test_every_case_makes_the_spans_it_is_about(case: str, spans: int) -> None:
    found = measured("--only", case, "--variants", "meter", "--ops", "2", "--rounds", "2")["cases"][case]
    assert {variant["spans"] for variant in found["variants"].values()} == {spans}


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
def test_memory_and_imports_are_measured() -> None:
    found = measured("--only", "memory,import", "--ops", "40")
    assert set(found["memory"]) == {"calls", "streams", "failures", "runs"}
    for slopes in found["memory"].values():
        for side in ("control", "spanhook"):
            assert len(slopes[side]["looks"]) == 5
    assert found["import"]["spanhook_ms"] > 0


def piped(*arguments: str, **environ: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.pipeline", "--json", "--quick", *arguments],
        cwd=ROOT,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def items(document: Any, part: str) -> set[str]:
    return {one["item"] for one in document["stages"] if one["part"] == part and one["per_cpu_second"] > 0}


@pytest.mark.slow
def test_spans_and_log_events_are_measured_against_bare_spans() -> None:
    found = piped("--only", "sdk")
    assert items(found, "sdk") == {"span of the bare SDK", "span alone", "operation", "log event"}
    assert found["stages"][0]["ratio"] == 1.0
    assert set(found["runs_per_core_day"]) == {"sdk"}


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
    assert document["ingest"]["spans"] == 20_480
    assert document["answers_ms"].keys() >= {"runs: all", "one run", "statistics of hooks"}
