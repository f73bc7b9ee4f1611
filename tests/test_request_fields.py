"""The list of what hooks do not see of requests is in the guarantees as it is checked."""

from pathlib import Path

from tests.request_fields.lists import table

GUARANTEES = Path(__file__).parents[1] / "docs/guarantees.md"


def test_the_guarantees_have_the_list() -> None:
    assert table() in GUARANTEES.read_text(encoding="utf-8")
