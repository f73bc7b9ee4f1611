"""Tools that an application runs without a gate are named, once, and counted."""

import logging
from collections.abc import Iterator

import pytest

from spanhook import semconv
from spanhook.model.tool_results import ToolResults

RESULT = ("call_1", "bash")


def attributes(name: str, call_id: str = "") -> dict[str, str]:
    """Those of a tool call."""
    return {semconv.GEN_AI_TOOL_NAME: name, **({semconv.GEN_AI_TOOL_CALL_ID: call_id} if call_id else {})}


@pytest.fixture
def results(caplog: pytest.LogCaptureFixture) -> Iterator[ToolResults]:
    with caplog.at_level(logging.WARNING, "spanhook"):
        yield ToolResults()


def test_a_tool_that_nothing_executed_is_named_once(results: ToolResults, caplog: pytest.LogCaptureFixture) -> None:
    results.sent([RESULT, ("call_2", "search")], 3)
    results.sent([("call_3", "bash")], 5)
    (record,) = caplog.records
    assert "the application runs tools that hooks do not see: bash, search; decorate" in record.getMessage()
    assert results.ungated == {"bash": 2, "search": 1}
    assert results.names() == ("bash", "search")


def test_a_request_that_is_repeated_counts_once(results: ToolResults) -> None:
    for _ in range(3):
        results.sent([RESULT], 3)
    results.sent([RESULT], 5)  # servers may use an id again
    assert results.ungated == {"bash": 2}


@pytest.mark.parametrize(("name", "call_id"), [("bash", "call_1"), ("bash", ""), ("other", "call_1"), ("execute", "")])
def test_a_tool_that_was_executed(name: str, call_id: str, results: ToolResults) -> None:
    results.executed.append(attributes(name, call_id))
    results.sent([RESULT], 3)
    assert results.ungated == {}
    results.sent([RESULT], 5)
    assert results.ungated == {"bash": 1}


def test_an_execution_of_another_tool_that_models_ask_for_is_no_match(results: ToolResults) -> None:
    results.executed.append(attributes("search"))
    results.sent([("call_1", "search")], 3)
    results.executed.append(attributes("search"))
    results.sent([("call_2", "bash")], 5)
    assert results.ungated == {"bash": 1}


def test_a_tool_that_was_executed_for_another_call_hides_none(results: ToolResults) -> None:
    results.executed.append(attributes("execute", "call_9"))
    results.sent([RESULT], 3)
    assert results.ungated == {"bash": 1}


def test_ids_are_matched_before_names(results: ToolResults) -> None:
    results.executed.append(attributes("bash", "call_2"))
    results.sent([RESULT, ("call_2", "bash")], 4)
    assert results.ungated == {"bash": 1}


def test_a_result_without_an_id_matches_any_execution_that_no_model_asked_for(results: ToolResults) -> None:
    results.executed.append(attributes("execute", "call_9"))
    results.sent([("", "bash")], 3)
    assert results.ungated == {}


def test_names_of_models_do_not_grow_without_bound(results: ToolResults) -> None:
    for place in range(300):
        results.sent([(f"call_{place}", f"made_up_{place}")], place)
    assert len(results.ungated) == 101
    assert results.ungated["_other"] == 200


def test_a_result_without_a_name(results: ToolResults, caplog: pytest.LogCaptureFixture) -> None:
    results.sent([("call_1", "")], 1)
    assert results.ungated == {"_other": 1}
    assert "_other" in caplog.text


def test_a_child_counts_anew(results: ToolResults) -> None:
    results.sent([RESULT], 3)
    results.renew()
    assert results.ungated == {}
