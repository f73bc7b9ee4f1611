"""Functions that Mistral's SDK runs because a model asked for it."""

from importlib.util import find_spec
from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.mistralai_ways import TALK
from spanhook.cli.conformance.libraries.mistralai_ways import client as made
from spanhook.cli.conformance.loops import run
from spanhook.cli.conformance.servers.mistral_server import MistralServer
from spanhook.cli.conformance.servers.openai_replies import Call, Reply
from spanhook.testing import recorder

RAN: list[Any] = []


def look_up(city: str, days: int = 1) -> str:
    """Look up the weather.

    Args:
        city: Where.
        days: For how long.
    """
    RAN.append((city, days))
    if city == "atlantis":
        raise ValueError("under water")
    return f"{city}: sunny"


def told_of(mistral: MistralServer, city: str = "rome", *, goes_on: bool = False) -> Any:
    """What the model is told of a function that it calls."""
    from mistralai.extra.run.context import RunContext

    RAN.clear()
    mistral.script(Reply(calls=(Call("look_up", {"city": city}),)), "done")

    async def main() -> None:
        async with RunContext(model=TALK["model"], continue_on_fn_error=goes_on) as context:
            context.register_func(look_up)
            await made(mistral.url).beta.conversations.run_async(context, "How is it?")

    run(main())
    return mistral.requests[-1].body["inputs"][0]["result"]


def test_a_function_is_an_operation(mistral: MistralServer) -> None:
    with recorder() as seen:
        assert told_of(mistral) == "rome: sunny"
    calls = [op for op in seen.operations if op.kind == "tool.execute"]
    assert [(op.name, op.status) for op in calls] == [("look_up", "success")]
    (span,) = (span for span in seen.spans if (span.attributes or {}).get("spanhook.kind") == "tool.execute")
    assert span.name == "execute_tool look_up"
    assert (span.attributes or {})["gen_ai.tool.call.id"] == "call_1"
    assert [op.kind for op in seen.operations].count("llm.call") == 2


def test_it_can_be_rewritten_answered_and_refused(mistral: MistralServer) -> None:
    rewriting, answering, refusing = Hooks(), Hooks(), Hooks()
    rewriting.before("tool.execute")(lambda op: op.replace(arguments={"city": "oslo", "days": 2}))
    answering.before("tool.execute")(lambda op: op.respond({"weather": "rain"}))

    @refusing.before("tool.execute")
    def refuse(op: Operation) -> None:
        raise Reject("not there")

    with recorder(rewriting):
        assert (told_of(mistral), RAN) == ("oslo: sunny", [("oslo", 2)])
    with recorder(answering):
        assert (told_of(mistral), RAN) == ('{"weather": "rain"}', [])
    with recorder(refusing):
        assert (told_of(mistral), RAN) == ("Tool call rejected: not there", [])


def test_a_run_that_is_refused_ends(mistral: MistralServer) -> None:
    hooks = Hooks()

    @hooks.before("tool.execute")
    def refuse(op: Operation) -> None:
        raise Reject("no more", scope="run")

    with recorder(hooks), pytest.raises(Reject, match="no more"):
        told_of(mistral)
    assert (RAN, len(mistral.requests)) == ([], 1)


def test_a_function_that_fails(mistral: MistralServer) -> None:
    from mistralai.extra.exceptions import RunException

    with recorder() as seen, pytest.raises(RunException):
        told_of(mistral, "atlantis")
    assert [op.status for op in seen.operations if op.kind == "tool.execute"] == ["error"]


@pytest.mark.skipif(find_spec("mistralai.extra.voice_agents") is None, reason="there are none in this version")
def test_functions_of_voice_agents() -> None:
    from mistralai.extra.voice_agents.tools import FunctionHandler

    handler = FunctionHandler(look_up)
    hooks = Hooks()

    @hooks.before("tool.execute", names={"look_up"})
    def decide(op: Operation) -> None:
        if op.request.arguments["city"] == "rome":
            raise Reject("not there")
        op.replace(arguments={"city": "bergen"})

    with recorder(hooks):
        assert run(handler.invoke('{"city": "rome"}')) == "Tool call rejected: not there"
        assert run(handler.invoke('{"city": "oslo"}')) == "bergen: sunny"
