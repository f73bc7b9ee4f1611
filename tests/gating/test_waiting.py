from collections.abc import Mapping
from typing import Any

import pytest

import spanhook
from spanhook.gating import tell_waiting, waiting


def test_all_are_told_and_what_one_raises_stays_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, Mapping[str, Any]]] = []

    def fails(_run_id: str, _about: Mapping[str, Any]) -> None:
        raise ValueError("no")

    monkeypatch.setattr("spanhook.gating._waiting.waiting", [lambda *told: seen.append(told)])
    with spanhook.operation("tool.execute", "t", request={"arguments": {}}) as op:
        tell_waiting(op, {"approval_id": "1"})
        assert seen == [(op.identity.run_id, {"approval_id": "1"})]
        monkeypatch.setattr("spanhook.gating._waiting.waiting", [fails])
        with pytest.raises(ValueError, match="no"):  # raised in tests alone
            tell_waiting(op, {})
    assert isinstance(waiting, list)
