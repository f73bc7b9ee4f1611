"""A run is the same in whichever order it becomes known, whenever it is written in between."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from spanhook.store.control.facts import NOTHING, RunEvent, SpanFacts, UsageKey, Used
from spanhook.store.control.logs import decode_logs
from spanhook.store.control.run_state import COLUMNS, RunState
from spanhook.store.control.spans import decode_spans
from spanhook.store.control.wire import groups
from tests.store.control.otlp import logs, run_event, run_of, traces

SPANS = [
    facts
    for _, facts in decode_spans(groups(traces(run_of(1)).SerializeToString(), 100), "", 1).spans
    if facts is not None
]
[EVENT] = decode_logs(groups(logs([run_event(1)]).SerializeToString(), 100), "", 1).events


def _state(order: list[SpanFacts | RunEvent], written_after: set[int]) -> tuple[tuple[Any, ...], dict[UsageKey, Used]]:
    """The row in the end, and the sum of all changes of usage."""
    state, usage = RunState(("", "run-1")), dict[UsageKey, Used]()
    for number, one in enumerate(order):
        state.add_event(one) if isinstance(one, RunEvent) else state.add_span(one)
        if number in written_after or number == len(order) - 1:
            for key, used in state.changes().items():
                usage[key] = usage.get(key, NOTHING).plus(used)
            state = RunState.of((7, *state.row(0)))
    return state.row(0), {key: used for key, used in usage.items() if used != NOTHING}


WITHOUT, WITH = _state([*SPANS], set()), _state([*SPANS, EVENT], set())


@given(st.permutations(SPANS), st.sets(st.integers(0, 5)))
def test_spans_in_any_order(order: list[SpanFacts | RunEvent], written_after: set[int]) -> None:
    assert _state(order, written_after) == WITHOUT


@given(st.permutations([*SPANS, EVENT, EVENT]), st.sets(st.integers(0, 6)))
def test_with_its_event_in_any_order(order: list[SpanFacts | RunEvent], written_after: set[int]) -> None:
    assert _state(order, written_after) == WITH


def test_what_it_comes_to() -> None:
    row = dict(zip(COLUMNS, WITH[0], strict=True))
    assert (row["status"], row["ended"], row["told"], row["spans"]) == ("success", True, True, 4)
    assert {key[-1]: used.input_tokens for key, used in WITH[1].items()} == {"priced": 100, "unpriced": 100}
    assert WITH[1] == WITHOUT[1]


def test_a_span_around_one_that_begins_at_the_same_time() -> None:
    root = SPANS[-1]
    inner = root._replace(span_id=b"inner-id", parent_id=root.span_id, name="inner", agent="other")
    for order in ([root, inner], [inner, root]):
        row = dict(zip(COLUMNS, _state([*order], set())[0], strict=True))
        assert (row["name"], row["agent"]) == (root.name, root.agent)


def test_a_run_with_many_models_stays_small() -> None:
    call = next(one for one in SPANS if one.used is not None)
    order = [call._replace(span_id=number.to_bytes(8, "big"), model=f"m{number}") for number in range(1, 301)]
    row, usage = _state([*order], {20, 200})
    assert len(usage) == 101
    assert sum(used.calls for used in usage.values()) == 300
    assert dict(zip(COLUMNS, row, strict=True))["input_tokens"] == 30_000
