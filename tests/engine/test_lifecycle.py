"""The end of an operation: runs that are refused too late, and streams that are held back for hooks."""

import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import tool

from spanhook import Hooks, Operation, Reject
from spanhook.testing import recorder
from tests.stub import stubbed, use

STREAMS = ("stream", "astream")


@pytest.mark.parametrize("mode", STREAMS)
def test_a_run_that_is_refused_too_late_for_its_stream_still_ends_refused(mode: str) -> None:
    hooks = Hooks()

    @hooks.after("llm.call")
    def refuse(op: Operation) -> None:
        raise Reject("enough", scope="run")

    with stubbed(hooks) as (library, seen), pytest.raises(Reject, match="enough"):
        use(library, mode, "xyz")
    assert seen.operations[0].status == "rejected"


def test_after_a_run_was_refused_too_late_no_later_call_of_it_is_made() -> None:
    hooks = Hooks()
    ran: list[str] = []

    @hooks.after("llm.call")
    def refuse(op: Operation) -> None:
        raise Reject("enough", scope="run")

    @tool
    def search(query: str) -> str:
        """Search."""
        ran.append(query)
        return query

    @tool
    def outer(query: str) -> str:
        """Stream a model, then call a tool."""
        model = GenericFakeChatModel(messages=iter([AIMessage("a b c")]))
        ran.extend(str(chunk.content) for chunk in model.stream(query))
        return search.invoke({"query": query})

    with recorder(hooks), pytest.raises(Reject, match="enough"):
        outer.invoke({"query": "x"})
    assert "x" not in ran
    assert "".join(ran) == "a b c"


@pytest.mark.parametrize("mode", STREAMS)
def test_streams_are_held_back_only_for_hooks_that_they_concern(mode: str) -> None:
    hooks = Hooks()
    hooks.after("llm.call", models={"another"}, priority=10)(lambda op: None)
    with stubbed(hooks) as (library, seen):
        use(library, mode, "xyz")
    assert not seen.operations[0]._record.stream.buffered
    hooks.after("llm.call", models={"stub"}, priority=10)(lambda op: None)
    with stubbed(hooks) as (library, seen):
        use(library, mode, "xyz")
    assert seen.operations[0]._record.stream.buffered
