"""Requests and responses as hooks see them: what may be put in place, of which call."""

import pytest
from langchain_core.tools import tool

from spanhook import Hooks, Reject
from spanhook.testing import recorder
from tests.stub import MODES, stubbed, use


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return request.param


def test_a_field_that_a_call_has_not_got_is_an_error_of_the_hook(mode: str) -> None:
    hooks = Hooks()
    hooks.before("llm.call")(lambda op: op.replace(system="be kind", inputs="rewritten"))
    with stubbed(hooks) as (library, seen), pytest.raises(Reject, match="HookError") as caught:
        use(library, mode, "x")
    assert caught.value.status_code == 500
    assert library.calls == []
    assert not seen.operations[0]._record.decided.modified
    assert "system=; llm.call of stub takes inputs=" in str(caught.value.__cause__)


@pytest.mark.parametrize("field", ["messages", "system", "model"])
def test_a_tool_takes_no_messages(field: str) -> None:
    hooks = Hooks()
    hooks.before("tool.execute")(lambda op: op.replace(**{field: "x"}))

    @tool
    def search(query: str) -> str:
        """Search."""
        raise AssertionError("must not run")

    with recorder(hooks), pytest.raises(Reject, match="HookError"):
        search.invoke({"query": "x"})


def test_what_a_tool_returned_is_the_text_of_its_response() -> None:
    hooks = Hooks()
    said: list[str] = []
    hooks.after("tool.execute")(lambda op: said.append(op.response.text))

    @tool
    def search(query: str) -> str:
        """Search."""
        return f"about {query}"

    with recorder(hooks):
        search.invoke({"query": "x"})
    assert said == ["about x"]
