"""Rego in the process."""

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from spanhook import ConfigurationError
from spanhook.hooks.remote_policy import RemotePolicy
from spanhook.testing import recorder
from tests.hooks.remote_policy.calls import WAYS, refund, refusal
from tests.programs import need

MODULE = """
package agents
import rego.v1

default allow := false
allow if {
    is_number(input.arguments.amount)
    input.arguments.amount < 50
}
yes := true
no := false
text := "true"
one := 1
list := [true]
object := {"allow": true}
undefined if input.nope
broken := 1 / input.arguments.zero
limited if input.arguments.amount < data.limit
note if input.arguments.note == "é\\n\\"x\\""
"""


def loaded() -> ModuleType | None:
    """The package, if the system has the library that it needs."""
    try:
        import regopy
    except OSError:
        return None
    return regopy


@pytest.fixture
def rego(tmp_path: Path) -> Any:
    need("libatomic1", loaded())

    def make(query: str = "data.agents.allow", module: str = MODULE, **settings: Any) -> RemotePolicy:
        (tmp_path / "agents.rego").write_text(module)
        return RemotePolicy(
            "rego", policies=[str(tmp_path / "agents.rego")], query=query, send=["arguments"], timeout=20, **settings
        )

    return make


@pytest.mark.parametrize("way", WAYS)
def test_true_allows_however_it_is_called(rego: Any, way: str) -> None:
    with recorder(rego()) as seen:
        assert WAYS[way]() == "refunded 5"
    [event] = seen.spans[0].events
    assert dict(event.attributes or {}) == {
        "gen_ai.guardrail.result.value": "true",
        "gen_ai.guardrail.result.type": "boolean",
    }


@pytest.mark.parametrize(
    "query",
    ["text", "one", "list", "object", "undefined", "broken", "no", "nothing", "allow; data.agents.yes", "[_]"],
)
def test_anything_else_denies(rego: Any, query: str) -> None:
    asked = rego(f"data.agents.{query}" if query != "[_]" else "data.agents[x]")
    asked.fail_mode = "open"
    with recorder(asked) as seen:
        assert refusal().status_code in (403, 502)
    assert [op.called for op in seen.operations] == [False]


@pytest.mark.parametrize("amount", [50, 100, "5", None, [5], 2**70, 1e300, 10**400])
def test_what_the_policy_does_not_allow_is_denied(rego: Any, amount: Any) -> None:
    with recorder(rego()):
        assert refusal(lambda: refund(amount)).status_code in (403, 422, 502)
        assert refund(12.5) == "refunded 12.5"  # nothing is left of the question before


def test_texts_are_as_the_policy_writes_them(rego: Any) -> None:
    with recorder(rego("data.agents.note")):
        assert refund(5, note='é\n"x"') == "refunded 5"
        assert refusal(lambda: refund(5, note="é")).status_code == 403


def test_data_is_read(rego: Any, tmp_path: Path) -> None:
    (tmp_path / "data.json").write_text('{"limit": 10}')
    with recorder(rego("data.agents.limited", data=str(tmp_path / "data.json"))):
        assert refund(5) == "refunded 5"
        assert refusal(lambda: refund(10)).status_code == 403


def test_a_library_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "regopy.py").write_text("raise OSError('libatomic.so.1: No such file')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "regopy", raising=False)
    with pytest.raises(ConfigurationError, match=r"libatomic\.so\.1: No such file; on Debian, .* libatomic1"):
        RemotePolicy("rego", policies=[str(tmp_path / "regopy.py")], query="data.agents.allow", send=["arguments"])


def test_what_cannot_be_read_is_refused(rego: Any) -> None:
    with pytest.raises(ConfigurationError, match="Rego cannot read its files"):
        rego(module="package agents\nallow if {")
    with pytest.raises(ConfigurationError):
        rego("data.agents.(")
