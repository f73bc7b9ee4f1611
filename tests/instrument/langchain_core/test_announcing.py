"""What stands in for an object of LangChain while an answer is announced: nothing on it leads to the object's body."""

from typing import Any

import pytest

from spanhook.cli.conformance.libraries.langchain_core import (
    ScriptedChat,
    ScriptedRetriever,
    ScriptedText,
    make_tool,
)
from spanhook.cli.conformance.subject import Body
from spanhook.instrument.langchain_core.announcing import Chat, Retriever, StandIn, StreamingText, Text, Tool

MADE: dict[type[StandIn], Any] = {
    Chat: lambda: ScriptedChat(body=Body()),
    Text: lambda: ScriptedText(body=Body()),
    StreamingText: lambda: ScriptedText(body=Body()),
    Tool: lambda: make_tool(Body()),
    Retriever: lambda: ScriptedRetriever(body=Body()),
}


@pytest.mark.parametrize("kind", MADE)
def test_it_runs_methods_that_the_base_class_has(kind: type[StandIn]) -> None:
    there = {name for name in kind.runs if hasattr(kind.base, name)}
    optional = {"_iter_v2_events", "_aiter_v2_events"}  # not in LangChain 1.0
    assert kind.runs - there <= optional
    made = kind(MADE[kind](), None, False)
    for name in there:
        assert getattr(made, name).__self__ is made


def test_a_method_that_is_not_known_is_not_there() -> None:
    class Newer(ScriptedChat):
        def _generate_in_a_newer_way(self) -> None:
            self.body.run(None)

    for made in (Chat(Newer(body=Body()), None, False), Chat(Newer(body=Body()), None, True)):
        with pytest.raises(AttributeError, match="_generate_in_a_newer_way of BaseChatModel is not known"):
            made._generate_in_a_newer_way()
        with pytest.raises(AttributeError):
            _ = made.with_retry
        with pytest.raises(AttributeError):
            _ = made.no_such_thing


@pytest.mark.parametrize("kind", [Chat, Tool, Retriever])
def test_what_describes_the_object_is_the_objects_own(kind: type[StandIn]) -> None:
    thing = MADE[kind]()
    made = kind(thing, None, False)
    assert made.tags is thing.tags
    assert made.get_name() == thing.get_name()
    assert isinstance(thing, kind.base)
