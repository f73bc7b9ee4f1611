"""Models of several providers: the request of a bound client inside a call is its transport, whatever it says."""

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

from spanhook import Hooks, Operation
from spanhook.cli.conformance.libraries.fast_agent_ways import OpenAILLM, OpenAISettings, Prompt, agent_of, context
from spanhook.cli.conformance.servers.anthropic_server import AnthropicServer
from spanhook.cli.conformance.servers.google_server import GoogleServer
from spanhook.cli.conformance.servers.openai_server import OpenAIServer, Tokens
from spanhook.cli.conformance.servers.requests import Line
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder

pytestmark = pytest.mark.anyio

_config: Any = import_module("fast_agent.config")
_anthropic: Any = import_module("fast_agent.llm.provider.anthropic.llm_anthropic")
_google: Any = import_module("fast_agent.llm.provider.google.llm_google_native")
_responses: Any = import_module("fast_agent.llm.provider.openai.responses")


def openai(url: str) -> Any:
    return OpenAILLM(context=context(openai=OpenAISettings(api_key="test", base_url=url)), model="gpt-4o-mini")


def responses(url: str) -> Any:
    settings = {"openai": OpenAISettings(api_key="test", base_url=url)}
    settings["responses"] = settings["openai"]
    return _responses.ResponsesLLM(context=context(**settings), model="gpt-4o-mini", transport="sse")


def anthropic(url: str) -> Any:
    settings = _config.AnthropicSettings(api_key="test", base_url=url)
    return _anthropic.AnthropicLLM(context=context(anthropic=settings), model="claude-sonnet-4-5")


def google(url: str) -> Any:
    settings = _config.GoogleSettings(api_key="test", base_url=url)
    return _google.GoogleNativeLLM(context=context(google=settings), model="gemini-2.5-flash")


PROVIDERS: dict[str, tuple[type[Any], Callable[[str], Any], str]] = {
    "openai": (OpenAIServer, openai, "openai"),
    "responses": (OpenAIServer, responses, "openai"),
    "anthropic": (AnthropicServer, anthropic, "anthropic"),
    "google": (GoogleServer, google, "gcp.gemini"),
}


if "base_url" not in inspect.getsource(_google):  # earlier versions know Google's own address alone
    del PROVIDERS["google"]


async def look_up(query: str) -> dict[str, str]:
    """Look something up."""
    return {"found": query}


async def search(query: str) -> str:
    """Search."""
    return f"found {query}"


async def test_one_operation_for_each_call() -> None:
    """On one event loop: clients of some SDKs are kept beyond a call."""
    for server, make, provider in PROVIDERS.values():
        body = Body()
        with server() as there:
            await one_operation_for_each_call(
                make(there.url_for(Line(body, lambda _seen: Tokens().total))), provider, body
            )


async def one_operation_for_each_call(model: Any, provider: str, body: Body) -> None:
    """What a message says is one text, or several, or what several tools have returned."""
    hooks = Hooks()
    told = iter(((), ("look_up", "search"), ()))

    @hooks.after("llm.call")
    def call_tools(op: Operation) -> None:
        parts = [
            {"type": "tool_call", "id": f"call_{name}", "name": name, "arguments": {"query": "tea"}}
            for name in next(told)
        ]
        if parts:
            op.respond({"role": "assistant", "parts": parts})

    message = Prompt.user("Say hello.")
    message.add_text("And goodbye.")
    with recorder(hooks) as seen:
        await agent_of(model).generate(message)
        await agent_of(model, look_up, search).send("Say hello.")
    calls = sorted(span.name.partition(" ")[0] for span in seen.spans)
    assert calls == [*["chat"] * 3, *["execute_tool"] * 2, *["invoke_agent"] * 2]
    spans = [dict(span.attributes or {}) for span in seen.spans if span.name.startswith("chat ")]
    used: Any = [span["gen_ai.usage.input_tokens"] for span in spans]
    used += [span["gen_ai.usage.output_tokens"] for span in spans]
    assert (sum(used), body.runs) == (body.tokens, 3)
    assert [span["gen_ai.provider.name"] for span in spans] == [provider] * 3
