"""What is lost when something breaks: no metric and no log event behind a living SDK, and it is known what else."""

import time
import uuid
from pathlib import Path

import pytest

from tests.e2e.programs import until
from tests.e2e.sending import application
from tests.e2e.stack import Pipe, pipe

pytestmark = pytest.mark.e2e


def _events(one: Pipe, mark: str) -> set[int]:
    return {int(record.attributes["number"]) for record in one.sink.records() if record.attributes.get("mark") == mark}


def test_no_log_event_is_lost_while_backends_are_down_and_the_collector_is_killed(tmp_path: Path) -> None:
    mark = uuid.uuid4().hex
    with pipe(tmp_path) as one, application(one.endpoint) as app:
        numbers = iter(range(1_000_000))

        def tell(count: int) -> None:
            for _ in range(count):
                app.log("spanhook.run", {"spanhook.usage.by_model": {}}, {"mark": mark, "number": next(numbers)})
            started = time.monotonic()
            app.logger_provider.force_flush()
            assert time.monotonic() - started < 10

        tell(100)
        one.sink_server.stop()
        tell(100)
        one.collector.kill()  # a hundred events on its disk, taken by nobody
        one.collector.start()
        tell(100)
        one.sink_server.start()
        tell(100)
        until(lambda: len(_events(one, mark)) == 400, "all of 400 log events")


def test_of_traces_at_most_those_awaiting_a_decision_are_lost(tmp_path: Path) -> None:
    with pipe(tmp_path, {"SPANHOOK_SAMPLING_PERCENT": "100"}) as one:
        with application(one.endpoint) as app:
            decided = {app.run("invoke_agent one") for _ in range(50)}
        until(lambda: {span.trace_id for span in one.sink.spans()} == decided, "50 traces")
        one.sink_server.stop()
        with application(one.endpoint) as app:
            queued = {app.run("invoke_agent two") for _ in range(50)}
        time.sleep(4)  # the decision's wait of one second, and the queue's batch
        with application(one.endpoint) as app:
            awaiting = {app.run("invoke_agent three") for _ in range(50)}
        one.collector.kill()
        one.collector.start()
        one.sink_server.start()
        with application(one.endpoint) as app:
            after = {app.run("invoke_agent four") for _ in range(50)}
        wanted = decided | queued | after

        def arrived() -> set[str]:
            return {span.trace_id for span in one.sink.spans()}

        until(lambda: wanted <= arrived(), "every trace that was decided about")
        assert arrived() <= wanted | awaiting


def test_a_collector_that_is_asked_to_end_decides_about_what_it_holds(tmp_path: Path) -> None:
    held = {"SPANHOOK_SAMPLING_PERCENT": "100", "SPANHOOK_SAMPLING_WAIT_AFTER_ROOT": "10m"}
    with pipe(tmp_path, held) as one:
        with application(one.endpoint) as app:
            wanted = {app.run("invoke_agent one") for _ in range(50)}
        one.collector.stop()
        one.collector.start()
        until(lambda: {span.trace_id for span in one.sink.spans()} == wanted, "50 traces")


def test_an_application_neither_waits_nor_fails_without_a_collector() -> None:
    with application("http://127.0.0.1:9") as app:
        started = time.monotonic()
        for _ in range(5000):
            app.run("invoke_agent alone")
        assert time.monotonic() - started < 5
        app.tracer_provider.shutdown()
