"""Providers: made only where none are and something asks, and giving way to the application's own."""

import sys
from pathlib import Path

import pytest

from tests.commands import OWN_TOOL, REJECTED, Folder
from tests.servers.collector import collector

GATED = ("run", "--hooks", "hooks.py:hooks")
WHAT_IS_THERE = """
import threading
from opentelemetry import _logs, metrics, trace
print([
    any(one.__module__.startswith("opentelemetry.sdk") for one in type(provider).__mro__)
    for provider in (trace.get_tracer_provider(), metrics.get_meter_provider(), _logs.get_logger_provider())
], sum(not one.name.startswith("spanhook") for one in threading.enumerate()))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


# ----------------------------------------------------------------------------------- what is made


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variables", "made"),
    [
        ({}, "[False, False, False] 1"),
        ({"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}, "[False, False, False] 1"),
        ({"OTEL_TRACES_EXPORTER": "console"}, "[True, False, False] 2"),
        ({"OTEL_METRICS_EXPORTER": "console", "OTEL_LOGS_EXPORTER": "console"}, "[False, True, True] 3"),
    ],
)
def test_made_as_asked(folder: Folder, variables: dict[str, str], made: str) -> None:
    ran = folder.write(app=WHAT_IS_THERE).spanhook("run", "app.py", **variables)

    assert ran.stdout.splitlines()[0] == made, ran.stderr


def test_nothing_is_made_in_an_application_of_its_own_accord(folder: Folder) -> None:
    folder.write(app="import spanhook\nspanhook.instrument()\n" + WHAT_IS_THERE)

    ran = folder.run(sys.executable, "app.py", OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9")

    assert ran.stdout.startswith("[False, False, False]"), ran.stderr


@pytest.mark.slow
def test_all_three_signals_are_exported(folder: Folder) -> None:
    folder.agent(OWN_TOOL)
    with collector() as seen:
        ran = folder.spanhook(*GATED, "app.py", OTEL_EXPORTER_OTLP_ENDPOINT=seen.url, OTEL_SERVICE_NAME="shop")

    assert ran.stdout.strip() == REJECTED, ran.stderr
    assert seen.spans == ["execute_tool refund"]
    assert seen.events == ["spanhook.decision", "spanhook.run"]
    assert "spanhook.hook.decisions" in seen.metrics
    assert seen.services == {"shop"}


@pytest.mark.slow
def test_a_sampler_drops_spans_and_no_gates(folder: Folder) -> None:
    folder.agent()
    with collector() as seen:
        ran = folder.spanhook(*GATED, "app.py", OTEL_EXPORTER_OTLP_ENDPOINT=seen.url, OTEL_TRACES_SAMPLER="always_off")

    assert ran.stdout.strip() == REJECTED, ran.stderr
    assert seen.spans == []
    assert "spanhook.decision" in seen.events


@pytest.mark.slow
def test_an_exporter_that_is_down_does_not_matter(folder: Folder) -> None:
    ran = folder.agent().spanhook(
        *GATED, "app.py", OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9", OTEL_EXPORTER_OTLP_TIMEOUT="1"
    )

    assert (ran.returncode, ran.stdout.strip()) == (0, REJECTED)


OWN = """
from opentelemetry import _logs, metrics, trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk._logs import LoggerProvider

kept, reader = InMemorySpanExporter(), InMemoryMetricReader()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(kept))
trace.set_tracer_provider(provider)
metrics.set_meter_provider(MeterProvider([reader]))
_logs.set_logger_provider(LoggerProvider())
"""
LOOK = """
print(trace.get_tracer_provider() is provider, [span.name for span in kept.get_finished_spans()])
scopes = [scope for resource in reader.get_metrics_data().resource_metrics for scope in resource.scope_metrics]
print(sorted(metric.name for scope in scopes for metric in scope.metrics)[-1])
"""


@pytest.mark.slow
def test_an_application_gets_the_providers_it_sets(folder: Folder) -> None:
    folder.agent().file("app.py", "from tool import attempt\nattempt()\n" + OWN + "attempt()\n" + LOOK)
    with collector() as seen:
        ran = folder.spanhook(*GATED, "app.py", OTEL_EXPORTER_OTLP_ENDPOINT=seen.url)

    assert ran.stdout.splitlines() == ["True ['execute_tool refund']", "spanhook.run.tool_calls"]
    assert ran.stderr == ""
    assert seen.spans == ["execute_tool refund"]  # of the time before


@pytest.mark.slow
def test_providers_of_other_start_up_code_stay(folder: Folder) -> None:
    folder.agent().file("start/sitecustomize.py", OWN)
    folder.file("app.py", "from sitecustomize import *\nfrom tool import attempt\nattempt()\n" + LOOK)
    with collector() as seen:
        ran = folder.spanhook(*GATED, "app.py", OTEL_EXPORTER_OTLP_ENDPOINT=seen.url, PYTHONPATH="start")

    assert ran.stdout.splitlines()[0] == "True ['execute_tool refund']", ran.stderr
    assert not seen.received


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_children_export_what_they_did(folder: Folder, method: str) -> None:
    folder.agent().file(
        "app.py",
        f"""
        import multiprocessing
        from tool import attempt

        if __name__ == "__main__":
            attempt()
            child = multiprocessing.get_context({method!r}).Process(target=attempt)
            child.start()
            child.join()
        """,
    )
    with collector() as seen:
        ran = folder.spanhook(*GATED, "app.py", OTEL_EXPORTER_OTLP_ENDPOINT=seen.url)

    assert ran.returncode == 0, ran.stderr
    assert seen.spans == ["execute_tool refund"] * 2
    assert seen.events.count("spanhook.decision") == 2


SET_UP = """
from spanhook.export import providers
print(providers.setup("demo"), providers.setup("demo"))
from opentelemetry import trace
with trace.get_tracer("x").start_as_current_span("one"):
    pass
print(providers.flush(60))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variables", "service"),
    [({}, "demo"), ({"OTEL_SERVICE_NAME": "mine"}, "mine"), ({"OTEL_RESOURCE_ATTRIBUTES": "service.name=his"}, "his")],
)
def test_setup_and_flush(folder: Folder, variables: dict[str, str], service: str) -> None:
    folder.write(app=SET_UP + "import os, sys\nsys.stdout.flush()\nos._exit(0)\n")
    with collector() as seen:
        ran = folder.run(sys.executable, "app.py", OTEL_EXPORTER_OTLP_ENDPOINT=seen.url, **variables)

    assert ran.stdout.split() == ["True", "False", "True"], ran.stderr
    assert seen.spans == ["one"]
    assert seen.services == {service}


def test_flush_of_nothing() -> None:
    from spanhook.export import providers

    assert providers.flush(0.1)
