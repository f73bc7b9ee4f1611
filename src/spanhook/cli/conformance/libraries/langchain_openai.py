"""LangChain over OpenAI's client, against a server on loopback."""

from typing import Any

from langchain_openai import ChatOpenAI, OpenAI, OpenAIEmbeddings

from spanhook.cli.conformance.libraries.hearing import listeners
from spanhook.cli.conformance.libraries.langchain_core import CHAT_BIND, CHAT_WAYS, EMBEDDINGS_WAYS, TEXT_WAYS
from spanhook.cli.conformance.libraries.openai import connections, counting_into
from spanhook.cli.conformance.libraries.runnables import V3, lacks_v3, opened
from spanhook.cli.conformance.servers.openai_server import Reply
from spanhook.cli.conformance.subject import OVER_HTTP, Body, Subject


def _langchain(made: type[Any], body: Body, **options: Any) -> Any:
    return made(base_url=counting_into(body), api_key="test", max_retries=0, **connections(), **options)


def _chat(body: Body) -> Any:
    return _langchain(ChatOpenAI, body, model="gpt-4o-mini")


def _responses(body: Body) -> Any:
    return _langchain(ChatOpenAI, body, model="gpt-4o-mini", use_responses_api=True)


def _text(body: Body) -> Any:
    return _langchain(OpenAI, body, model="gpt-3.5-turbo-instruct")


def _embeddings(body: Body) -> Any:
    return _langchain(OpenAIEmbeddings, body, model="text-embedding-3-small", check_embedding_ctx_length=False)


_LACKING = V3 if lacks_v3(ChatOpenAI) else ()

_HTTP: dict[str, Any] = {"faults": OVER_HTTP, "slow": True}

SUBJECTS: tuple[Subject, ...] = (
    Subject(
        "ChatOpenAI",
        "llm.call",
        _chat,
        CHAT_WAYS,
        CHAT_BIND,
        said=Reply.text,
        listeners=listeners,
        lacking=_LACKING,
        opened=opened("hi"),
        **_HTTP,
    ),
    Subject(
        "ChatOpenAI responses",
        "llm.call",
        _responses,
        # The Responses API has no `stop`, but LangChain 1.0 passes it on anyway.
        {**CHAT_WAYS, "bound": lambda model: model.bind(temperature=0.5).invoke("hi")},
        CHAT_BIND,
        said=Reply.text,
        listeners=listeners,
        lacking=_LACKING,
        opened=opened("hi"),
        **_HTTP,
    ),
    Subject(
        "langchain OpenAI",
        "llm.call",
        _text,
        TEXT_WAYS,
        {},
        said=Reply.text,
        listeners=listeners,
        whole_batches=True,
        opened=opened("hi"),
        **_HTTP,
    ),
    Subject("OpenAIEmbeddings", "embeddings.create", _embeddings, EMBEDDINGS_WAYS, {}, **_HTTP),
)
