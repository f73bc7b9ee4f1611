"""What an ended call counts as: what was reported if that is complete, else at least what was reserved for it."""

from typing import Any

import pytest

from spanhook.gating import Charge, get_charge
from spanhook.model import Response, Source, Usage

RESERVED = Charge(1000, 500, complete=False)


class Ended:
    """As much of an ended call as is read."""

    kind = "llm.call"
    called = True

    def __init__(self, used: Usage | None, status: str = "success", *, says: bool = True) -> None:
        self.own_usage, self.status = used, status
        self.response = Response([{"role": "assistant", "parts": [{"type": "text", "content": "hi"}] if says else []}])


def reported(source: Source = "provider", *counts: int, nano: int | None = 7) -> Usage:
    used = Usage(*(counts or (10, 5)))
    used.come_from(source)
    used.cost_nano = nano
    return used


def settled(used: Usage | None, status: str = "success", **more: Any) -> Charge:
    ended: Any = Ended(used, status, **more)
    return get_charge(ended, 1000, 500)


@pytest.mark.one_value
@pytest.mark.parametrize("source", ["provider", "framework"])
def test_complete_counts_are_taken_as_they_are(source: Source) -> None:
    assert settled(reported(source)) == Charge(15, 7)
    assert settled(reported(source, 5000, 1)) == Charge(5001, 7)
    assert settled(reported(source, nano=None)) == Charge(15, 500)


def test_an_estimate_is_no_report() -> None:
    assert settled(reported("estimate")) == RESERVED
    assert settled(reported("estimate", 2000, 1)) == Charge(2001, 500, complete=False)
    assert settled(reported("estimate", 10, 5, nano=900)) == Charge(1000, 900, complete=False)
    assert settled(None) == RESERVED


@pytest.mark.parametrize("status", ["abandoned", "cancelled", "error"])
def test_what_was_cut_short_is_a_lower_bound(status: str) -> None:
    assert settled(reported(), status) == RESERVED
    assert settled(reported("provider", 3000, 1), status) == Charge(3001, 500, complete=False)


def test_what_failed_without_a_count_costs_nothing() -> None:
    assert settled(None, "error") == Charge(0, 0)
    assert settled(reported("estimate", 75, 0), "error") == Charge(0, 0)
    assert settled(reported("estimate", 75, 3), "error") == RESERVED  # it had answered in part


def test_what_was_not_called_costs_nothing() -> None:
    ended: Any = Ended(reported())
    ended.called = False
    assert get_charge(ended, 1000, 500) == Charge(0, 0)


def test_numbers_that_cannot_be_are_not_believed() -> None:
    assert settled(reported("provider", 0, 0)) == RESERVED
    assert settled(reported("provider", 0, 5)) == RESERVED
    assert settled(reported("provider", 10, 0)) == RESERVED
    assert settled(reported("provider", 10, 0), says=False) == Charge(10, 7)
    odd = reported()
    odd.skip("output_tokens")
    assert settled(odd) == RESERVED


def test_an_answer_from_a_cache_costs_nothing() -> None:
    nothing = Usage()
    nothing.charge(0)
    nothing.come_from("framework")
    assert settled(nothing) == Charge(0, 0)


def test_a_provider_that_reports_nothing_for_a_text_is_not_believed() -> None:
    nothing = Usage()
    nothing.charge(0)
    assert settled(nothing) == RESERVED
    assert settled(nothing, says=False) == Charge(0, 0)
