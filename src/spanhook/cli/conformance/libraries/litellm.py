"""What is gated in LiteLLM, and every way of calling it, against servers on loopback."""

import warnings
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Any

from spanhook.cli.conformance.libraries.litellm_agents import (
    A2A_WAYS,
    FOUND,
    HAS_AGENTS,
    LOOP_WAYS,
    TURN_WAYS,
    asking,
    using,
)
from spanhook.cli.conformance.libraries.litellm_ways import (
    ASK,
    CHAT,
    ROUTES,
    At,
    endpoint,
    litellm,
    messages,
    opened,
    ways_of,
)
from spanhook.cli.conformance.servers.anthropic_server import AnthropicServer
from spanhook.cli.conformance.servers.openai_server import OpenAIServer, Reply, Tokens
from spanhook.cli.conformance.servers.requests import Line, Seen
from spanhook.cli.conformance.subject import OVER_HTTP, Body, Subject, Ungated

_OTHERS = ("/images/", "/audio/", "/moderations")


def _tokens(seen: Seen) -> int:
    """The usage that the server reports for a request."""
    if seen.path.endswith("/embeddings"):
        return Tokens().input
    if seen.path.startswith(_OTHERS):
        return 0
    options: dict[str, Any] = seen.body.get("stream_options") or {}
    reports = not seen.body.get("stream") or "/responses" in seen.path or options.get("include_usage")
    return Tokens().total if reports or "/messages" in seen.path else 0


@cache
def _openai() -> OpenAIServer:
    return OpenAIServer().__enter__()


@cache
def _anthropic() -> AnthropicServer:
    return AnthropicServer().__enter__()


def over_openai(model: str = "openai/gpt-4o-mini") -> Any:
    def make(body: Body) -> At:
        url = _openai().url_for(Line(body, _tokens))
        return At({"model": model, "api_base": url, "api_key": "test", "max_retries": 0})

    return make


def over_anthropic(body: Body) -> At:
    url = _anthropic().url_for(Line(body, _tokens))
    given = {"api_base": f"{url}/v1/messages", "api_key": "test", "max_retries": 0}
    return At({"model": "anthropic/claude-sonnet-4-5", **given})


def to_anthropic(body: Body) -> At:
    """What messages are given, whose address is the server's."""
    url = _anthropic().url_for(Line(body, _tokens))
    return At({"model": "anthropic/claude-sonnet-4-5", "api_base": url.removesuffix("/v1"), "api_key": "test"})


def routing(body: Body) -> Any:
    """A router with one deployment."""
    listed = [{"model_name": "group", "litellm_params": over_openai()(body).given}]
    return litellm.Router(model_list=listed, num_retries=0, disable_cooldowns=True)


def _streams_messages() -> bool:
    """Whether what LiteLLM's proxy needs is installed: streams of Anthropic's messages need it, too."""
    for module in (
        "litellm.llms.anthropic.messages.native.streaming_iterator",
        "litellm.llms.anthropic.experimental_pass_through.messages.streaming_iterator",
    ):
        with suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import_module(module)
            return True
    return False


_MESSAGES = messages({"messages": CHAT["messages"][1:], "system": "Be brief.", "max_tokens": 20})
if not _streams_messages():
    del _MESSAGES["async stream"]
_IS_OLD = litellm.completion.__module__ == "litellm.main"
"""Whether this is an older version, whose moderations always go to OpenAI's own address."""
_HTTP: dict[str, Any] = {"asked": ASK, "said": Reply.text, "faults": OVER_HTTP, "slow": True}

_TOLD: dict[str, Any] = {"raises": False, "said": FOUND, "faults": ()}
_ANSWERED: dict[str, Any] = {"asked": ASK, "answer": "an answer", "faults": ()}
_AGENTS = (
    Subject("a LiteLLM loop", "agent.invoke", asking, LOOP_WAYS, {}, **_ANSWERED),
    Subject("a tool of a LiteLLM loop", "tool.execute", using, LOOP_WAYS, {}, **_TOLD),
    Subject("a turn of LiteLLM's harness", "agent.invoke", asking, TURN_WAYS, {}, **_ANSWERED),
    Subject("a tool of LiteLLM's harness", "tool.execute", using, TURN_WAYS, {}, **_TOLD),
    Subject("an agent that LiteLLM asks over A2A", "agent.delegate", asking, A2A_WAYS, {}, asked=ASK, faults=()),
)

SUBJECTS: tuple[Subject, ...] = (
    Subject(
        "litellm over openai",
        "llm.call",
        over_openai(),
        ways_of("completion", CHAT),
        {},
        opened=opened("completion", CHAT),
        **_HTTP,
    ),
    Subject(
        "litellm over anthropic",
        "llm.call",
        over_anthropic,
        ways_of("completion", CHAT),
        {},
        opened=opened("completion", CHAT),
        **_HTTP,
    ),
    Subject(
        "litellm responses",
        "llm.call",
        over_openai(),
        ways_of("responses", {"input": ASK, "instructions": "Be brief."}),
        {},
        opened=opened("responses", {"input": ASK}),
        **_HTTP,
    ),
    Subject(
        "litellm text",
        "llm.call",
        over_openai("text-completion-openai/gpt-3.5-turbo-instruct"),
        ways_of("text_completion", {"prompt": ASK}),
        {},
        opened=opened("text_completion", {"prompt": ASK}),
        **_HTTP,
    ),
    Subject(
        "litellm embeddings",
        "embeddings.create",
        over_openai("openai/text-embedding-3-small"),
        ways_of("embedding", {"input": ["one", "two"]}, streams=False),
        {},
        faults=OVER_HTTP,
        slow=True,
    ),
    Subject(
        "litellm anthropic messages",
        "llm.call",
        to_anthropic,
        _MESSAGES,
        {},
        lacking=() if "async stream" in _MESSAGES else ("async stream",),
        **_HTTP,
    ),
    *(
        Subject(
            f"litellm {name}",
            "llm.call",
            over_openai(model),
            {} if function == "moderation" and _IS_OLD else endpoint(function, request),
            {},
            faults=OVER_HTTP,
            lacking=(function, f"async {function}") if function == "moderation" and _IS_OLD else (),
        )
        for name, model, function, request in (
            ("images", "openai/dall-e-3", "image_generation", {"prompt": ASK}),
            ("speech", "openai/tts-1", "speech", {"input": ASK, "voice": "alloy"}),
            ("transcription", "openai/whisper-1", "transcription", {"file": ("a.mp3", b"sound"), "prompt": ASK}),
            ("moderation", "omni-moderation-latest", "moderation", {"input": ASK}),
        )
    ),
    Subject(
        "litellm router", "llm.call", routing, ROUTES, {}, asked=ASK, said=Reply.text, faults=OVER_HTTP[:1], slow=True
    ),
    *(_AGENTS if HAS_AGENTS else ()),
)

UNGATED = (
    Ungated(
        "files",
        over_openai(),
        lambda at: litellm.file_list(custom_llm_provider="openai", **{**at.given, "model": None}),
    ),
    Ungated("generate_content, ocr, search, videos, interactions"),
    Ungated("realtime sessions"),
    Ungated("assistants, batches and fine-tuning, except as far as they go through OpenAI's client"),
    Ungated("pass-through routes"),
    Ungated(
        "what programs of its harnesses run (Claude Code, Codex and others), and models that they call by a gateway"
    ),
    Ungated("tools that its proxy makes of an OpenAPI description; what its file search looks up"),
)
