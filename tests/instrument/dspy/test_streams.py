"""What ``dspy.streamify`` passes on: as it arrives, or once hooks have decided."""

import asyncio
from typing import Any

import pytest

import spanhook
from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.dspy import dspy
from spanhook.cli.conformance.servers.openai_server import OpenAIServer, Reply


def streamed(hooks: Hooks | None, *, is_async: bool) -> list[Any]:
    """What a program passes on."""
    found: list[Any] = []

    async def main(lm: Any) -> None:
        program = dspy.streamify(dspy.Predict("question -> answer"), is_async_program=False, async_streaming=True)
        if is_async:
            program = dspy.streamify(Asking(), is_async_program=True, async_streaming=True)
        with dspy.context(lm=lm, adapter=dspy.ChatAdapter()):
            async for value in program(question="Why?"):
                found.append(value)  # noqa: PERF401 - kept if it fails

    class Asking(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.ask = dspy.Predict("question -> answer")

        async def aforward(self, question: str) -> Any:
            return await self.ask.acall(question=question)

        async def acall(self, *args: Any, **kwargs: Any) -> Any:
            return await super().acall(*args, **kwargs)

        __call__ = acall

    with OpenAIServer() as server:
        server.script(Reply(text="[[ ## answer ## ]]\nSecret.\n\n[[ ## completed ## ]]"))
        lm = dspy.LM("openai/gpt-4o-mini", api_base=f"{server.url}/v1", api_key="test", cache=False, num_retries=0)
        if hooks is not None:
            spanhook.instrument(hooks)
        try:
            asyncio.run(main(lm))
        finally:
            spanhook.uninstrument()
    return found


@pytest.mark.parametrize("is_async", [False, True])
def test_parts_pass_as_they_arrive(*, is_async: bool) -> None:
    hooks = Hooks()
    hooks.after("llm.call")(lambda _op: None)
    assert len(streamed(hooks, is_async=is_async)) == len(streamed(None, is_async=is_async)) > 2


@pytest.mark.parametrize("is_async", [False, True])
def test_held_answers_pass_whole_once_they_are_decided(*, is_async: bool) -> None:
    allowing, refusing = Hooks(), Hooks()
    allowing.after("llm.call", stream="buffer")(lambda _op: None)

    @refusing.after("llm.call", stream="buffer")
    def refuse(_op: Operation) -> None:
        raise Reject("Not today")

    found = streamed(allowing, is_async=is_async)
    assert [type(one) for one in found] == [dspy.Prediction]
    assert found[0].answer == "Secret."
    with pytest.raises(BaseException) as caught:  # anyio puts it into a group
        streamed(refusing, is_async=is_async)
    told = caught.value
    while isinstance(told, BaseExceptionGroup):
        told = told.exceptions[0]
    assert isinstance(told, Reject)
