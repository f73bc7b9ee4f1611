"""Counts that no sampler touches, whoever reads them, however late, in whatever process."""

import json
import os
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langgraph.graph import START, StateGraph
from opentelemetry.sdk.metrics import Counter, Histogram, MeterProvider, ObservableCounter
from opentelemetry.sdk.metrics.export import AggregationTemporality, InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, TraceIdRatioBased

import spanhook
from spanhook import Hooks, Operation
from spanhook.cli.conformance.libraries.langchain_core import ScriptedChat
from spanhook.cli.conformance.subject import Body
from spanhook.telemetry import counts
from tests.forking import children
from tests.stub import stubbed

DELTA = dict.fromkeys((Counter, ObservableCounter, Histogram), AggregationTemporality.DELTA)


def read(reader: InMemoryMetricReader) -> dict[str, list[tuple[dict[str, Any], Any]]]:
    found: dict[str, list[tuple[dict[str, Any], Any]]] = {}
    data = reader.get_metrics_data()
    for resource in data.resource_metrics if data is not None else ():
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                for point in metric.data.data_points:
                    value = getattr(point, "value", None)
                    found.setdefault(metric.name, []).append(
                        (dict(point.attributes or {}), point.sum if value is None else value)  # pyright: ignore[reportAttributeAccessIssue]
                    )
    return found


def tokens(reader: InMemoryMetricReader) -> int:
    return sum(value for _, value in read(reader).get("spanhook.usage.tokens", ()))


def reader(*, delta: bool = False) -> InMemoryMetricReader:
    return InMemoryMetricReader(preferred_temporality=DELTA) if delta else InMemoryMetricReader()


# ------------------------------------------------------------------------------------------------ instruments


def test_every_instrument() -> None:
    hooks = Hooks()
    hooks.before("llm.call", name="gate")(lambda op: None)

    @hooks.before("llm.call", name="agate", timeout=60.0)
    async def agate(op: Operation) -> None:
        return None

    with stubbed(hooks) as (library, seen):
        library.work("x")
        list(library.words("abc"))
        with pytest.raises(KeyError):
            library.work(KeyError("x"))
        found = seen.metrics()
    model = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "stub",
        "gen_ai.response.model": "stub-1",
    }
    request = {**model, "gen_ai.request.model": "stub"}
    assert {(tuple(sorted(a.items())), v) for a, v in found["spanhook.usage.tokens"]} == {
        (tuple(sorted({**model, "spanhook.token.bucket": "input"}.items())), 20),
        (tuple(sorted({**model, "spanhook.token.bucket": "output"}.items())), 8),
    }
    assert found["spanhook.usage.unpriced"] == [(model, 28)]
    assert "spanhook.usage.cost" not in found
    durations = {a.get("error.type", "ok"): v[1] for a, v in found["gen_ai.client.operation.duration"]}
    assert durations == {"ok": 2, "KeyError": 1}
    assert [v[1] for _, v in found["gen_ai.client.operation.time_to_first_chunk"]] == [1]
    assert found["gen_ai.client.token.usage"] == [
        ({**request, "gen_ai.token.type": "input"}, (20, 2)),
        ({**request, "gen_ai.token.type": "output"}, (8, 2)),
    ]
    decision = {
        "spanhook.decision": "allow",
        "spanhook.mode": "enforce",
        "spanhook.coverage": "enforced",
        "spanhook.fail_mode": "closed",
        "spanhook.event": "llm.call.pre",
    }
    assert {(a["spanhook.hook"], v) for a, v in found["spanhook.hook.decisions"]} == {("gate", 3), ("agate", 3)}
    assert all({key: a[key] for key in decision} == decision for a, _ in found["spanhook.hook.decisions"])
    assert {a["spanhook.hook"] for a, _ in found["spanhook.hook.time"]} == {"gate", "agate"}
    assert all(set(a) == {"spanhook.hook", "spanhook.event", "spanhook.mode"} for a, _ in found["spanhook.hook.time"])
    assert [(a, v[1]) for a, v in found["spanhook.hook.duration"]] == [
        ({"spanhook.hook": "agate", "spanhook.event": "llm.call.pre", "spanhook.mode": "enforce"}, 3)
    ]
    assert [v for _, v in found["spanhook.run.llm_calls"]] == [(2, 2), (1, 1)]
    assert found["spanhook.info"][0][0]["spanhook.mode"] == "enforce"


def test_tenants_on_metrics_only_if_asked() -> None:
    hooks = Hooks()
    hooks.before("llm.call")(lambda op: None)
    for asked in (False, True):
        with stubbed(hooks, spanhook.Settings(tenant_metrics=asked)) as (library, seen):
            with spanhook.context(tenant_id="acme"):
                library.work("x")
            found = seen.metrics()
        for name in ("spanhook.usage.tokens", "spanhook.hook.decisions"):
            assert {a.get("spanhook.tenant.id") for a, _ in found[name]} == {"acme" if asked else None}


# ------------------------------------------------------------------------------------------------ providers


@pytest.mark.parametrize("delta", [False, True])
@pytest.mark.parametrize("sampler", [ALWAYS_ON, ALWAYS_OFF, TraceIdRatioBased(0.5)], ids=["on", "off", "half"])
def test_every_collection_tells_the_truth(delta: bool, sampler: Any) -> None:
    metrics = reader(delta=delta)
    tracing = TracerProvider(sampler=sampler, shutdown_on_exit=False)
    spanhook.instrument(tracer_provider=tracing, meter_provider=MeterProvider([metrics], shutdown_on_exit=False))
    model = ScriptedChat(body=Body())
    told: list[int] = []
    for _ in range(3):
        model.invoke("hi")
        told.append(tokens(metrics))
    assert told == ([28, 28, 28] if delta else [28, 56, 84])


def test_a_second_provider_reports_what_happened_since() -> None:
    first, second = reader(), reader()
    spanhook.instrument(meter_provider=MeterProvider([first], shutdown_on_exit=False))
    model = ScriptedChat(body=Body())
    model.invoke("hi")
    spanhook.instrument(meter_provider=MeterProvider([second], shutdown_on_exit=False))
    model.invoke("hi")
    assert tokens(second) == 28
    assert tokens(first) == 28  # it is told no more


@pytest.mark.parametrize("delta", [False, True])
def test_nothing_is_lost_or_told_twice_over_uninstrumenting(delta: bool) -> None:
    """What was counted since the last collection is still collected, and the next instrumentation counts on."""
    one = InMemoryMetricReader(preferred_temporality=DELTA if delta else None)
    provider = MeterProvider([one], shutdown_on_exit=False)
    model = ScriptedChat(body=Body())
    told: list[int] = []
    for _ in range(3):
        spanhook.instrument(meter_provider=provider)
        model.invoke("hi")
        spanhook.uninstrument()
        model.invoke("hi")
        told.append(tokens(one))
    assert told == ([28, 28, 28] if delta else [28, 56, 84])


def run_apart(body: str) -> Any:
    """Run code in a process of its own, where global providers can be set; what it prints last is JSON."""
    done = children.run("-W", "error", "-c", body)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.strip().splitlines()[-1])


def in_a_fork(call: Callable[..., Any], *given: Any) -> Any:
    """What a call returns, as JSON, in a fork of this process: for what a process can do but once."""
    out, into = os.pipe()
    if os.fork() == 0:
        try:
            os.write(into, json.dumps(call(*given)).encode())
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)
    os.close(into)
    with open(out) as told:
        found = json.load(told)
    os.wait()
    return found


LATE = """
import json
import spanhook
from opentelemetry import _logs, metrics, trace
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from spanhook.cli.conformance.libraries.langchain_core import ScriptedChat
from spanhook.cli.conformance.subject import Body
from tests.telemetry.test_metrics import read, reader

spanhook.instrument()
model = ScriptedChat(body=Body())
model.invoke("hi")
readers = [reader(delta=delta) for delta in (False, True)]
spans, logs = InMemorySpanExporter(), InMemoryLogRecordExporter()
metrics.set_meter_provider(MeterProvider(readers))
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(spans))
trace.set_tracer_provider(provider)
logger_provider = LoggerProvider()
logger_provider.add_log_record_processor(SimpleLogRecordProcessor(logs))
_logs.set_logger_provider(logger_provider)
model.invoke("hi")
found = [read(one) for one in readers]
print(json.dumps({
    "tokens": [sum(v for _, v in one["spanhook.usage.tokens"]) for one in found],
    "histograms": [
        [v for a, v in one["gen_ai.client.token.usage"] if a["gen_ai.token.type"] == "input"] for one in found
    ],
    "spans": len(spans.get_finished_spans()),
    "events": [one.log_record.event_name for one in logs.get_finished_logs()],
}))
"""


def test_providers_made_late() -> None:
    assert run_apart(LATE) == {
        "tokens": [56, 56],  # of all since `instrument()`, whether cumulative or delta
        "histograms": [[20], [20]],  # these begin with the provider
        "spans": 1,
        "events": ["spanhook.run"],
    }


FORK = """
import json
import spanhook
from opentelemetry.sdk.metrics import MeterProvider
from spanhook.cli.conformance.libraries.langchain_core import ScriptedChat
from spanhook.cli.conformance.subject import Body
from tests.telemetry.test_metrics import in_a_fork, reader, tokens

def counted(delta, collected):
    metric_reader = reader(delta=delta)
    spanhook.instrument(meter_provider=MeterProvider([metric_reader]))
    model = ScriptedChat(body=Body())
    model.invoke("hi")
    if collected:
        tokens(metric_reader)
    model.invoke("hi")

    def child(calls):
        mine = []
        for _ in range(calls):
            model.invoke("hi")
            mine.append(tokens(metric_reader))
        return mine

    children = [in_a_fork(child, calls) for calls in (1, 2)]
    return children, tokens(metric_reader)

print(json.dumps([in_a_fork(counted, delta, collected) for delta in (False, True) for collected in (False, True)]))
"""


@pytest.mark.slow
def test_every_forked_child_counts_its_own() -> None:
    cumulative, delta = [[28], [28, 56]], [[28], [28, 28]]
    assert run_apart(FORK) == [[cumulative, 56], [cumulative, 56], [delta, 56], [delta, 28]]


# ------------------------------------------------------------------------------------------------ no growth


@pytest.mark.slow
def test_2000_runs_leave_no_registry_larger() -> None:
    hooks = Hooks()
    hooks.before("*", timeout=3600.0)(lambda op: None)  # the clock of tests goes on with every thread

    def sizes() -> list[int]:
        from spanhook.engine import _completion, lifecycle, processor

        return [
            len(counts.usage.sums()),
            len(counts.decisions.sums()),
            len(counts.usage),
            len(lifecycle.foreign),
            len(lifecycle.listeners),
            len(_completion._apart),
            len(counts.decisions._slots),
            len(processor._attached),
        ]

    with stubbed(hooks) as (library, _):

        def operate(_index: int) -> Any:
            return library.work("x")

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(operate, range(50)))
        before = sizes()
        for _ in range(10):
            with ThreadPoolExecutor(8) as pool:
                list(pool.map(operate, range(200)))
        after = sizes()
    assert [now for now, then in zip(after, before, strict=True) if now > then] == []


@pytest.mark.slow
def test_2000_runs_of_a_graph_leave_nothing_anywhere() -> None:
    """Neither in spanhook's own registries nor in those of the libraries: nothing is registered for a run."""
    import gc

    from langchain_core.tracers import context as tracers

    from spanhook.engine import _ending, listeners, registry
    from spanhook.model import Operation as Made

    model = ScriptedChat(body=Body())
    told: list[int] = []

    def work(state: dict[str, Any]) -> dict[str, Any]:
        model.invoke("hi")
        return {}

    state: Any = dict
    builder: Any = StateGraph(state)
    builder.add_node("work", work)
    builder.add_edge(START, "work")
    graph = builder.compile(name="worker")
    hooks = Hooks()

    @hooks.before("*")
    def before(op: Operation) -> None:
        op.state["seen"] = op.identity.run_id

    @hooks.after("agent.invoke")
    def bill(op: Operation) -> None:
        told.append(op.extras["usage_metadata"]["gpt-4o-mini-2024-07-18"]["total_tokens"])

    def sizes() -> dict[str, int]:
        gc.collect()
        return {
            "operations": sum(issubclass(type(one), Made) for one in gc.get_objects()),
            "hooks": len(registry.hooks),
            "bound": sum(len(plan.pre) + len(plan.post) + len(plan.error) for plan in registry.plans.values()),
            "listeners": len(listeners),
            "unfinished": len(_ending._unfinished),
            "usage": len(counts.usage.sums()),
            "decisions": len(counts.decisions.sums()),
            "langchain": len(tracers._configure_hooks),
        }

    provider = TracerProvider(shutdown_on_exit=False)
    metrics = reader()
    spanhook.instrument(
        hooks, tracer_provider=provider, meter_provider=MeterProvider([metrics], shutdown_on_exit=False)
    )
    for _ in range(20):
        graph.invoke({})
    before_them, threads = sizes(), set(threading.enumerate())
    for _ in range(2000):
        graph.invoke({})
    after_them = sizes()
    assert after_them.pop("operations") <= before_them.pop("operations")  # others' may go meanwhile
    assert after_them == before_them
    assert set(threading.enumerate()) <= threads  # others' may end meanwhile
    assert told == [28] * 2020
    assert tokens(metrics) == 2020 * 28


WITH_HOOK = """
import json
import spanhook
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from spanhook.cli.conformance.libraries.langchain_core import ScriptedChat
from spanhook.cli.conformance.subject import Body
from tests.telemetry.test_metrics import in_a_fork

class Refuse(spanhook.Hook):
    def before(self, op):
        raise spanhook.Reject("no")

def refused():
    try:
        ScriptedChat(body=body).invoke("hi")
    except spanhook.Reject:
        return True
    return False

def used(when):
    told = []
    provider = TracerProvider()
    if when == "added first":
        provider.add_span_processor(Refuse())
    if when == "set first":
        trace.set_tracer_provider(provider)
        provider.add_span_processor(Refuse())
    spanhook.instrument()
    told.append(refused())
    if when == "added late":
        provider.add_span_processor(Refuse())
    if when != "set first":
        trace.set_tracer_provider(provider)
    told.append(refused())
    return told, body.runs

body = Body()
print(json.dumps({when: in_a_fork(used, when) for when in ("set first", "added first", "added late")}))
"""


@pytest.mark.slow
def test_a_hook_on_a_global_provider_gates_as_soon_as_it_is_known() -> None:
    assert run_apart(WITH_HOOK) == {
        "set first": [[True, True], 0],
        "added first": [[False, True], 1],
        "added late": [[False, True], 1],
    }


def test_a_gate_that_is_asked_again_is_one_series() -> None:
    hooks = Hooks()
    hooks.before("llm.call", priority=10, name="gate")(lambda op: None)
    hooks.before("llm.call", priority=20, name="rewrite")(lambda op: op.replace(inputs="y"))
    collected = reader()
    with stubbed(hooks) as (library, _):
        spanhook.instrument(meter_provider=MeterProvider([collected], shutdown_on_exit=False), only=())
        library.work("x")
        found = read(collected)["spanhook.hook.decisions"]
    by_hook = sorted((one["spanhook.hook"], one["spanhook.decision"], count) for one, count in found)
    assert by_hook == [("gate", "allow", 2), ("rewrite", "modify", 1)]
