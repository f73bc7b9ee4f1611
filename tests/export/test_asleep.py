"""Providers that we create do nothing in a forked child until an item comes; beside gevent, that matters."""

import threading
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import TracerProvider

from spanhook.diagnostics import internal
from spanhook.export import _asleep
from tests.commands import Folder
from tests.servers.collector import collector

CAP = """
import os, resource, sys
# No more processes than this, whatever goes wrong: each fork adds a byte, and nobody forks any more beyond.
FORKS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "forks")
ME = os.getpid()
MUST_FLUSH = sys.version_info[:2] == (3, 12)  # no thread starts there at the end, and gevent needs one
def count():
    if os.path.exists(FORKS) and os.path.getsize(FORKS) >= 40:
        os._exit(9)
    with open(FORKS, "ab") as file:
        file.write(b".")
os.register_at_fork(before=count)
"""

POLICIES = """
policies:
  - id: loops
    use: loop_guard
...
"""

GEVENT = """
import cap
import {early}
import subprocess, threading
import spanhook

@spanhook.tool
def look(q):
    return q

look("before")
{late}
import gevent

def note(text):
    with open("notes", "a") as file:
        file.write(text + "\\n")

def work(number):
    for step in range(50):
        gevent.sleep(0.002)
        if os.getpid() != cap.ME:
            note("a greenlet runs in the child")
            os._exit(7)
        if number == 0 and step in (1, 20):
            look("x")
            subprocess.run(["true"], check=True)

import os
gevent.joinall([gevent.spawn(work, number) for number in range(3)], timeout=30)
if cap.MUST_FLUSH:
    from spanhook.export import flush
    flush(20)
note("end")
"""

PATCH = "gevent.monkey; gevent.monkey.patch_all()"


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path).write(cap=CAP)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("when", "config"), [("early", False), ("early", True), ("late", False), ("not at all", False)]
)
def test_no_greenlet_runs_in_the_child_of_a_subprocess(folder: Folder, when: str, config: bool) -> None:
    folder.file("spanhook.yaml", POLICIES) if config else None
    app = GEVENT.format(early=PATCH if when == "early" else "os", late=f"import {PATCH}" if when == "late" else "")
    folder.write(app=app)
    with collector() as seen:
        variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": seen.url}
        options = ("--config", "spanhook.yaml") if config else ()
        ran = folder.spanhook("run", *options, "app.py", **variables)

    assert (folder.path / "notes").read_text() == "end\n", ran.stderr
    assert "WARNING" not in ran.stderr.replace("MonkeyPatchWarning", "")
    assert seen.spans == ["execute_tool look"] * 3
    assert seen.metrics


CHILDREN = """
import cap
import json, os, sys, threading, time
import spanhook

@spanhook.tool
def look(q):
    return q

def threads():
    return len(os.listdir("/proc/self/task"))

def apart(function):
    began = time.monotonic()
    pid = os.fork()
    if pid:
        status = os.waitpid(pid, 0)[1]
        assert status == 0, status
        return time.monotonic() - began
    try:
        function()
        sys.stdout.flush()
        from spanhook.export import flush
        flush(20)
        ended = 0
    except BaseException as error:
        print(repr(error), file=sys.stderr)
        ended = 1
    os._exit(ended)

def idle():
    assert threads() == 1, threading.enumerate()

def busy():
    assert threads() == 1, threading.enumerate()
    look("child")
    assert threads() > 1
    apart(idle)
    apart(grandchild)

def grandchild():
    assert threads() == 1, threading.enumerate()
    look("grandchild")
    assert threads() > 1

def leaves():
    from opentelemetry import _logs, metrics, trace
    trace.get_tracer_provider().shutdown()
    metrics.get_meter_provider().shutdown()
    _logs.get_logger_provider().shutdown()
    os._exit(0)

look("parent")
took = apart(idle)
apart(leaves)
apart(busy)
print("done", took < 4)
"""


@pytest.mark.slow
def test_workers_start_with_the_first_item_of_a_child(folder: Folder) -> None:
    folder.write(app=CHILDREN)
    with collector() as seen:
        ran = folder.spanhook("run", "app.py", OTEL_EXPORTER_OTLP_ENDPOINT=seen.url)

    assert ran.stdout == "done True\n", ran.stderr
    assert sorted(seen.spans) == ["execute_tool look"] * 3
    assert len(seen.instances) == (3 if hasattr(TracerProvider, "_handle_fork") else 1)  # the SDK's own, in 1.39


@pytest.mark.slow
def test_a_child_keeps_the_instance_that_the_environment_names(folder: Folder) -> None:
    folder.write(app=CHILDREN)
    with collector() as seen:
        folder.spanhook(
            "run",
            "app.py",
            OTEL_EXPORTER_OTLP_ENDPOINT=seen.url,
            OTEL_RESOURCE_ATTRIBUTES="service.instance.id=mine",
        )

    assert seen.instances == {"mine"}


DETECTOR = """
from opentelemetry.sdk.resources import Resource, ResourceDetector

class Counting(ResourceDetector):
    def is_process_dependent(self):
        return True

    def detect(self):
        import os
        with open("detected", "a") as file:
            file.write(f"{os.getpid()}\\n")
        return Resource({})
"""


@pytest.mark.slow
def test_no_detector_runs_in_a_child(folder: Folder) -> None:
    folder.write(app=CHILDREN, counting=DETECTOR)
    folder.file("counting-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: counting\nVersion: 1\n")
    folder.file(
        "counting-1.dist-info/entry_points.txt", "[opentelemetry_resource_detector]\ncounting = counting:Counting\n"
    )
    with collector() as seen:
        ran = folder.spanhook(
            "run",
            "app.py",
            OTEL_EXPORTER_OTLP_ENDPOINT=seen.url,
            OTEL_EXPERIMENTAL_RESOURCE_DETECTORS="counting",
            PYTHONPATH=str(folder.path),
        )
    assert ran.stdout == "done True\n", ran.stderr
    assert len(set((folder.path / "detected").read_text().split())) == 1


FOREIGN = """
import cap
import gevent.monkey
gevent.monkey.patch_all()
import logging, os, subprocess, sys
logging.basicConfig(stream=sys.stderr)
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter
provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(ConsoleSpanExporter()))
trace.set_tracer_provider(provider)
import spanhook
spanhook.instrument(only=[])
for _ in range(3):
    subprocess.run(["true"], check=True)
os._exit(0)
"""


@pytest.mark.slow
def test_somebody_elses_provider_beside_gevent_is_one_warning(folder: Folder) -> None:
    folder.write(app=FOREIGN)
    ran = folder.spanhook("run", "app.py")

    assert ran.returncode == 0, ran.stderr
    assert ran.stderr.count("opentelemetry.sdk.trace.TracerProvider starts threads in every child of a fork") == 1


def test_without_gevent_there_is_no_warning(folder: Folder) -> None:
    lines = [line for line in FOREIGN.splitlines() if "gevent" not in line]
    folder.write(app="\n".join(lines).replace('subprocess.run(["true"], check=True)', "os.fork() or os._exit(0)"))
    ran = folder.spanhook("run", "app.py")

    assert ran.returncode == 0, ran.stderr
    assert "starts threads" not in ran.stderr


PROVIDING = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter
provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(ConsoleSpanExporter()))
trace.set_tracer_provider(provider)
from spanhook import Hooks
hooks = Hooks()
"""


@pytest.mark.slow
def test_doctor_says_so(folder: Folder) -> None:
    folder.write(hooks=PROVIDING)
    ran = folder.spanhook("doctor", "--hooks", "hooks.py:hooks")

    assert "TracerProvider starts threads in every child of a fork; under gevent" in " ".join(ran.stdout.split())


def test_an_item_does_not_fail_where_no_thread_can_start(monkeypatch: pytest.MonkeyPatch) -> None:
    class Consumer:
        def emit(self, item: str) -> str:
            return item

    def start(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(internal, "fatal", False)
    monkeypatch.setattr(threading.Thread, "start", start)
    sleeping, consumer = _asleep.Sleeping(), Consumer()
    sleeping.threads.append(threading.Thread())
    assert sleeping.at(consumer, "emit")
    assert [consumer.emit("first"), consumer.emit("second")] == ["first", "second"]
    assert sleeping.threads == []
