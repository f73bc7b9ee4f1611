"""What frames say: importance, tags, and how much of long texts is kept."""

from typing import Any

import pytest

from spanhook.iterations._framing import (
    Place,
    completion_frame,
    cut,
    error_frame,
    iteration_frame,
    merged,
    noted_frame,
    text_of,
)
from spanhook.store import Frame

PLACE = Place("sess-123", 4, "acme")


@pytest.mark.parametrize(("success", "importance", "said"), [(True, 5, "succeeded"), (False, 7, "failed")])
def test_an_iteration(success: bool, importance: int, said: str) -> None:
    frame = iteration_frame(PLACE, "Task completed", success=success)
    assert (frame.type, frame.importance, frame.success) == ("iteration", importance, success)
    assert frame.content == f"Iteration 5 {said}: Task completed"
    assert frame.tags == ("iteration", "iter-5", "hook:iteration_end")
    assert (frame.session_id, frame.iteration, frame.tenant_id) == ("sess-123", 4, "acme")


def test_output_is_truncated_to_1000_characters() -> None:
    frame = iteration_frame(PLACE, "x" * 5000, success=True)
    assert len(frame.details["output"]) == 1000
    assert frame.details["output_length"] == 5000
    assert iteration_frame(PLACE, "y" * 1000, success=True).details["output"] == "y" * 1000


def test_an_error_is_critical_and_says_what_went_on_before() -> None:
    before = [iteration_frame(PLACE, "searched", success=True)]
    frame = error_frame(PLACE, ValueError("Something went wrong"), "Processing user input", before, 2000)
    assert (frame.type, frame.importance, frame.success) == ("error", 10, False)
    assert frame.tags == ("error", "iter-5", "hook:error")
    assert frame.content == (
        "ValueError: Something went wrong\nContext: Processing user input\n"
        "Before it:\n- Iteration 5 succeeded: searched"
    )
    assert frame.details == {
        "error_type": "ValueError",
        "message": "Something went wrong",
        "context": "Processing user input",
        "recent": ["Iteration 5 succeeded: searched"],
    }


def test_an_errors_context_is_truncated_as_configured() -> None:
    frame = error_frame(PLACE, "it broke", "x" * 5000, [], 10)
    assert frame.details["context"] == "x" * 9 + "…"
    assert frame.content.startswith("Error: it broke\n")
    assert "Context" not in error_frame(PLACE, "it broke", "x", [], 0).content


def test_a_long_message_and_what_went_on_before_are_bounded() -> None:
    before = [iteration_frame(PLACE, "x" * 5000, success=True)] * 5
    assert len(error_frame(PLACE, ValueError("y" * 10**6), "z" * 10**6, before, 2000).content) < 4200


def test_an_error_that_cannot_be_printed() -> None:
    class Odd(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert error_frame(PLACE, Odd(), "", [], 10).content == "Odd: (it cannot be printed)"
    assert error_frame(PLACE, KeyError(), "", [], 10).content == "KeyError"


def test_a_completion_has_the_sessions_metrics() -> None:
    frame = completion_frame(PLACE, "All done.", success=True, iterations=5, errors=1)
    assert (frame.type, frame.importance, frame.success) == ("completion", 8, True)
    assert frame.content == "Session completed: 5 iterations, 1 error. All done."
    assert frame.tags == ("completion", "hook:completion")
    assert frame.details == {"total_iterations": 5, "error_count": 1, "summary": "All done."}
    failed = completion_frame(PLACE, None, success=False, iterations=0, errors=0)
    assert failed.content == "Session failed: 0 iterations, 0 errors"


def test_what_the_application_notes() -> None:
    frame = noted_frame(PLACE, "decision", "Use SQLite", importance=9, tags=["storage"])
    assert (frame.content, frame.importance, frame.tags) == ("Use SQLite", 9, ("decision", "iter-5", "storage"))


def test_frames_are_merged_without_doubles_in_the_order_they_were_made() -> None:
    def made(id: str, time_ns: int) -> Frame:
        return Frame(id=id, session_id="s", type="note", content="", time_ns=time_ns)

    a, b, c = made("a", 1), made("b", 2), made("c", 3)
    assert merged([b, c, a, b]) == (a, b, c)


@pytest.mark.parametrize(
    ("value", "text"), [(None, ""), (3, "3"), ({"a": 1}, "{'a': 1}"), ("\ud800", "\ufffd"), (b"x", "b'x'")]
)
def test_whatever_an_iteration_gives_is_text(value: Any, text: str) -> None:
    assert text_of(value) == text


@pytest.mark.parametrize(("most", "text"), [(5, "hello"), (4, "hel…"), (1, "…"), (0, "")])
def test_a_text_is_cut_to_so_many_characters(most: int, text: str) -> None:
    assert cut("hello", most) == text
