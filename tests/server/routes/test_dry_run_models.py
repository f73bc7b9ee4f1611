from typing import Any

import pytest
from pydantic import ValidationError

from spanhook.server.routes.dry_run_models import HookTest


@pytest.mark.parametrize("given", [{"sample_context": {}}, {"run": "a", "span": "b"}])
def test_a_dry_run_has_a_sample_or_an_operation(given: dict[str, Any]) -> None:
    assert HookTest.model_validate(given).model_dump(exclude_unset=True) == given


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "give sample_context, or run and span"),
        ({"run": "a"}, "give sample_context, or run and span"),
        ({"span": "b", "sample_context": {}}, "give sample_context, or run and span"),
        ({"sample_context": []}, "dictionary"),
        ({"sample_context": {}, "other": 1}, "Extra inputs"),
        ({"run": "a" * 201, "span": "b"}, "200"),
    ],
)
def test_anything_else_is_a_mistake(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        HookTest.model_validate(given)


def test_samples_are_shallow() -> None:
    deep: Any = 1
    for _ in range(60):
        deep = [deep]
    with pytest.raises(ValidationError, match="50 levels"):
        HookTest.model_validate({"sample_context": {"result": deep}})
