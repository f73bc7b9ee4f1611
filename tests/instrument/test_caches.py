"""LangChain's caches of answers, which keep nothing that hooks have replaced or refused.

Those of other libraries are tested with these.
"""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from langchain_core.caches import BaseCache, InMemoryCache
from langchain_core.globals import set_llm_cache
from langchain_core.outputs import Generation
from langchain_core.prompt_values import StringPromptValue

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.langchain_core import ScriptedChat, ScriptedText
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder


class AsyncCache(BaseCache):
    """A cache with async methods of its own, as those on a server have."""

    def __init__(self) -> None:
        self.entries: dict[tuple[str, str], Sequence[Generation]] = {}
        self.threads = 0

    def lookup(self, prompt: str, llm_string: str) -> Any:
        return self.entries.get((prompt, llm_string))

    def update(self, prompt: str, llm_string: str, return_val: Sequence[Generation]) -> None:
        self.entries[prompt, llm_string] = return_val

    async def alookup(self, prompt: str, llm_string: str) -> Any:
        return self.lookup(prompt, llm_string)

    async def aupdate(self, prompt: str, llm_string: str, return_val: Sequence[Generation]) -> None:
        await asyncio.sleep(0)
        self.entries[prompt, llm_string] = return_val

    def clear(self, **kwargs: Any) -> None:
        self.entries.clear()


class BrokenCache(InMemoryCache):
    def update(self, prompt: str, llm_string: str, return_val: Sequence[Generation]) -> None:
        raise OSError("the disk is full")


@pytest.fixture(params=[InMemoryCache, AsyncCache])
def cache(request: pytest.FixtureRequest) -> Iterator[BaseCache]:
    made = request.param()
    set_llm_cache(made)
    yield made
    set_llm_cache(None)


def kept(cache: Any) -> int:
    return len(cache.entries if isinstance(cache, AsyncCache) else cache._cache)


def ask(way: str, model: Any) -> Any:
    """What a model answers, asked in one of LangChain's ways."""
    ways = {
        "invoke": lambda: model.invoke("hi"),
        "ainvoke": lambda: asyncio.run(model.ainvoke("hi")),
        "batch": lambda: model.generate_prompt(PROMPTS),
        "abatch": lambda: asyncio.run(model.agenerate_prompt(PROMPTS)),
    }
    return ways[way]()


PROMPTS: Any = [StringPromptValue(text=text) for text in ("hi", "ho")]
WAYS = ["invoke", "ainvoke", "batch", "abatch"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("scripted", [ScriptedChat, ScriptedText])
def test_what_hooks_leave_as_it_was_is_kept(cache: BaseCache, way: str, scripted: Any) -> None:
    hooks, body = Hooks(), Body()
    hooks.after("llm.call")(lambda _op: None)
    with recorder(hooks):
        ask(way, scripted(body=body))
        assert kept(cache) == (2 if "batch" in way else 1)
        runs = body.runs
        ask(way, scripted(body=body))
    assert body.runs == runs


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("scripted", [ScriptedChat, ScriptedText])
@pytest.mark.parametrize("stream", ["observe", "buffer"])
@pytest.mark.parametrize("refuses", [False, True], ids=["replaced", "refused"])
def test_what_hooks_replace_or_refuse_is_not_kept(
    cache: BaseCache, way: str, scripted: Any, stream: Any, refuses: bool
) -> None:
    hooks, body = Hooks(), Body()

    @hooks.after("llm.call", stream=stream)
    def hide(op: Operation) -> None:
        if refuses:
            raise Reject("Not this")
        op.respond("[hidden]")

    with recorder(hooks):
        for _ in range(2):
            if refuses:
                with pytest.raises(Reject):
                    ask(way, scripted(body=body))
            else:
                assert "[hidden]" in str(ask(way, scripted(body=body)))
            assert kept(cache) == 0
    assert body.runs == (4 if "batch" in way and scripted is ScriptedChat else 2)  # text models get both at once


def test_without_hooks_that_see_answers_nothing_waits(cache: BaseCache) -> None:
    hooks = Hooks()

    @hooks.before("llm.call")
    def look(op: Operation) -> None:
        assert op.request.messages

    with recorder(hooks):
        ScriptedChat(body=Body()).invoke("hi")
        assert kept(cache) == 1


@pytest.mark.parametrize("hooked", [True, False])
def test_a_cache_that_fails_fails_the_call_as_without_hooks(hooked: bool) -> None:
    hooks = Hooks()
    if hooked:
        hooks.after("llm.call")(lambda _op: None)
    set_llm_cache(BrokenCache())
    try:
        with recorder(hooks) as seen, pytest.raises(OSError, match="the disk is full"):
            ScriptedChat(body=Body()).invoke("hi")
    finally:
        set_llm_cache(None)
    assert [op.status for op in seen.operations] == ["error"]


def test_caches_are_as_they_were_once_uninstrumented() -> None:
    before = {
        cls: (vars(cls).get("update"), vars(cls).get("aupdate")) for cls in (BaseCache, InMemoryCache, AsyncCache)
    }
    with recorder(Hooks()):
        pass
    assert {cls: (vars(cls).get("update"), vars(cls).get("aupdate")) for cls in before} == before
