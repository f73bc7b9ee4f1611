"""How the conventions have failures told, with either set of names."""

from typing import Any

import pytest
from opentelemetry._logs import SeverityNumber

from spanhook import Hooks, Operation, Reject, operation, semconv
from spanhook.cli.conformance.libraries.openai_ways import sync_client
from spanhook.cli.conformance.servers.openai_server import OpenAIServer, Reply
from spanhook.instrument.formats.openai import ChatChunks
from spanhook.testing import recorder


@pytest.mark.parametrize("opt_in", ["", semconv.OPT_IN_NEWEST, semconv.OPT_IN_BOTH])
def test_an_exception_is_an_event_of_the_span_or_of_the_log(opt_in: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(semconv.OPT_IN, opt_in)
    with recorder() as seen:
        for kind in ("llm.call", "tool.execute"):
            with pytest.raises(ValueError, match="wrong"), operation(kind, "x"):
                raise ValueError("wrong")
        all_logs = [one.log_record for one in seen._logs.get_finished_logs()]
        on_spans = [event.name for span in seen.spans for event in span.events]
    logs = [one for one in all_logs if "exception" in str(one.event_name)]
    names = [semconv.EVENT_CLIENT_EXCEPTION, semconv.EVENT_INTERNAL_EXCEPTION]
    assert [one.event_name for one in logs] == (names if opt_in else [])
    assert on_spans == ([] if opt_in == semconv.OPT_IN_NEWEST else ["exception"] * 2)
    for one in logs:
        assert one.severity_number is SeverityNumber.WARN
        assert one.trace_id
        assert one.span_id
        assert (one.attributes or {})[semconv.EXCEPTION_TYPE] == "ValueError"


def test_a_refusal_is_no_exception(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(semconv.OPT_IN, semconv.OPT_IN_BOTH)
    hooks = Hooks()

    @hooks.before("llm.call")
    def never(op: Operation) -> None:
        raise Reject("no")

    with recorder(hooks) as seen:
        with pytest.raises(Reject), operation("llm.call", "x"):
            raise AssertionError
        assert not any("exception" in one["name"] for one in seen.events)
        assert not any(event.name == semconv.EVENT_EXCEPTION for span in seen.spans for event in span.events)


@pytest.mark.parametrize(("opt_in", "told"), [("", None), (semconv.OPT_IN_NEWEST, ("error",))])
def test_a_generation_that_breaks_off_has_error_for_a_finish_reason(
    opt_in: str, told: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(semconv.OPT_IN, opt_in)
    with recorder() as seen:
        with pytest.raises(ValueError, match="wrong"), operation("llm.call", "x"):
            raise ValueError("wrong")
        with pytest.raises(ValueError, match="wrong"), operation("embeddings.create", "x"):
            raise ValueError("wrong")
        with operation("llm.call", "x"):
            pass
        found = [(span.attributes or {}).get(semconv.GEN_AI_RESPONSE_FINISH_REASONS) for span in seen.spans]
    assert found == [told, None, None]


def test_a_choice_that_never_came_to_an_end_keeps_its_place() -> None:
    def choice(index: int, reason: str | None) -> dict[str, Any]:
        return {"index": index, "message": {"role": "assistant", "content": "x"}, "finish_reason": reason}

    choices = [choice(0, None), choice(1, "stop"), choice(2, None)]
    with OpenAIServer() as server, recorder() as seen, sync_client(server.url) as client:
        server.script(Reply(body={"id": "1", "model": "m", "choices": choices}))
        client.chat.completions.create(model="m", messages=[], n=3)
        [span] = seen.spans
    assert (span.attributes or {})[semconv.GEN_AI_RESPONSE_FINISH_REASONS] == ("error", "stop", "error")


@pytest.mark.parametrize(
    ("count", "index", "told"),
    [
        (3, 1, ("error", "stop", "error")),
        (None, 0, ("stop",)),
        (None, 10**12, ("error", "stop")),
        (10**12, 0, ("stop",)),
        ("2", 0, ("stop",)),
    ],
)
def test_nor_does_one_of_a_stream_lose_it(count: Any, index: int, told: tuple[str, ...]) -> None:
    chunks = ChatChunks({"model": "m", "n": count}, dict, itself=True)
    chunks.add({"id": "1", "choices": [{"index": index, "delta": {"content": "x"}, "finish_reason": "stop"}]})
    attributes, _ = chunks.response()
    assert attributes[semconv.GEN_AI_RESPONSE_FINISH_REASONS] == told


@pytest.mark.parametrize(("count", "told"), [(3, 3), (10**12, 1), (0, 1)])
def test_as_many_as_were_asked_for_break_off(count: int, told: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(semconv.OPT_IN, semconv.OPT_IN_NEWEST)
    with OpenAIServer() as server, recorder() as seen, sync_client(server.url) as client:
        server.script(Reply(status=400))
        with pytest.raises(Exception, match="400"):
            client.chat.completions.create(model="m", messages=[], n=count)
        [span] = seen.spans
    assert (span.attributes or {})[semconv.GEN_AI_RESPONSE_FINISH_REASONS] == ("error",) * told
