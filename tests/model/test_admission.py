"""What was decided about a run, as it is kept."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from spanhook.model import Admission, DecisionRecord, KeptAdmissions

ADMISSION = Admission(
    "r1",
    "ann",
    "d1g357",
    state={"asked": True},
    run_state={"n": 1},
    known={"assistant_id": "a1"},
    decisions=(DecisionRecord("slow", "run.pre", "timeout", "took too long"),),
)


def test_it_is_about_one_run_of_one_user_and_some_hooks() -> None:
    assert ADMISSION.binds("r1", "ann", "d1g357")
    for other in (("r2", "ann", "d1g357"), ("r1", "eve", "d1g357"), ("r1", "ann", "0th3r")):
        assert not ADMISSION.binds(*other)
    assert not replace(ADMISSION, run_id="").binds("", "ann", "d1g357")


def test_it_is_written_and_read() -> None:
    assert Admission.of(ADMISSION.text()) == ADMISSION
    assert Admission.of(ADMISSION.text().encode()) == ADMISSION


def test_what_cannot_be_written_is_left_out() -> None:
    circle: dict[str, Any] = {}
    circle["circle"] = circle
    state: dict[Any, Any] = {"session": object(), "asked": [1], "circle": circle, ("a", "pair"): 1}
    kept = replace(ADMISSION, state=state)
    read = Admission.of(kept.text())
    assert read is not None
    assert read.state == {"asked": [1]}


@pytest.mark.parametrize(
    "text",
    [
        *(None, "", "yes", "[]", "3", "{}", '{"run_id": "r1"}', b"\xff"),
        ADMISSION.text().replace('"ann"', "[]"),
        ADMISSION.text().replace('"hook"', '"hooked"'),
        ADMISSION.text().replace('"decisions": [', '"decisions": [3, '),
    ],
)
def test_anything_else_is_none(text: str | bytes | None) -> None:
    assert Admission.of(text) is None
    assert Admission.of(ADMISSION.text().replace('{"n": 1}', "[]")) is None


def test_they_are_kept_in_memory_until_there_are_too_many() -> None:
    async def main() -> None:
        kept = KeptAdmissions(most=2)
        for run in ("r1", "r2", "r3"):
            await kept.keep(replace(ADMISSION, run_id=run))
        assert [await kept.find(run) is not None for run in ("r1", "r2", "r3")] == [False, True, True]
        await kept.drop("r2")
        await kept.drop("r2")
        assert await kept.find("r2") is None

    asyncio.run(main())
