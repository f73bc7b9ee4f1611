"""LangChain over AWS's SDK for Bedrock, against a server on loopback."""

from typing import Any

from langchain_aws import BedrockEmbeddings, BedrockLLM, ChatBedrock, ChatBedrockConverse
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from spanhook.cli.conformance.libraries.botocore import Clients
from spanhook.cli.conformance.libraries.botocore_ways import CLAUDE, EMBEDDING, LLAMA
from spanhook.cli.conformance.libraries.hearing import listeners
from spanhook.cli.conformance.libraries.langchain_core import (
    CHAT_BIND,
    CHAT_WAYS,
    EMBEDDINGS_WAYS,
    TEXT_BIND,
    TEXT_WAYS,
)
from spanhook.cli.conformance.libraries.runnables import V3, lacks_v3, opened
from spanhook.cli.conformance.servers.openai_replies import Reply
from spanhook.cli.conformance.subject import OVER_HTTP, Body, Subject, Use


def _converse(body: Body) -> Any:
    kind: Any = ChatBedrockConverse
    client = Clients.of(body).sync
    return kind(model=CLAUDE, client=client, bedrock_client=client, region_name="us-east-1", max_tokens=64)


def _invoke(body: Body) -> Any:
    kind: Any = ChatBedrock
    client = Clients.of(body).sync
    return kind(model=CLAUDE, client=client, bedrock_client=client, region_name="us-east-1", max_tokens=64)


def _text(body: Body) -> Any:
    kind: Any = BedrockLLM
    return kind(model=LLAMA, client=Clients.of(body).sync, region_name="us-east-1")


def _embeddings(body: Body) -> Any:
    kind: Any = BedrockEmbeddings
    return kind(client=Clients.of(body).sync, model_id=EMBEDDING["modelId"], region_name="us-east-1")


_ASKED: list[BaseMessage] = [
    HumanMessage("hi"),
    AIMessage("", tool_calls=[{"name": "look_up", "args": {"city": one}, "id": one} for one in ("Rome", "Bonn")]),
    ToolMessage("sunny", tool_call_id="Rome"),
    ToolMessage("rainy", tool_call_id="Bonn"),
]
_TOOL: dict[str, Any] = {
    "name": "look_up",
    "description": "Looks up.",
    "parameters": {"type": "object", "properties": {}},
}
_WAYS: dict[str, Use] = {
    **CHAT_WAYS,
    # LangChain merges the end of each of these into one message, which is sent in pieces. Without tools, it turns what
    # they returned into other text.
    "after tools": lambda model: model.bind_tools([_TOOL]).invoke(_ASKED),
    "after tools, streamed": lambda model: list(model.bind_tools([_TOOL]).stream(_ASKED)),
    "after tools and a word": lambda model: model.bind_tools([_TOOL]).invoke([*_ASKED, HumanMessage("And now?")]),
}


_TEXT = {name: TEXT_WAYS[name] for name in ("invoke", "stream", "astream", "batch", "events")}
"""Ways of the model of text, which others of asyncio refuse unless it always streams."""


def _subject(kind: type, make: Any) -> Subject:
    return Subject(
        kind.__name__,
        "llm.call",
        make,
        _WAYS,
        CHAT_BIND,
        said=Reply.text,
        listeners=listeners,
        faults=OVER_HTTP,
        slow=True,
        opened=opened("hi"),
        lacking=V3 if lacks_v3(kind) else (),
    )


SUBJECTS: tuple[Subject, ...] = (
    _subject(ChatBedrockConverse, _converse),
    _subject(ChatBedrock, _invoke),
    Subject(
        "BedrockLLM",
        "llm.call",
        _text,
        _TEXT,
        TEXT_BIND,
        said=Reply.text,
        faults=OVER_HTTP,
        slow=True,
        whole_batches=True,
    ),
    Subject("BedrockEmbeddings", "embeddings.create", _embeddings, EMBEDDINGS_WAYS, {}, faults=OVER_HTTP, slow=True),
)
