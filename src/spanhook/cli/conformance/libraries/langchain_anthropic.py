"""LangChain over Anthropic's client, against a server on loopback."""

from typing import Any

from langchain_anthropic import ChatAnthropic
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from spanhook.cli.conformance.libraries.anthropic import Clients
from spanhook.cli.conformance.libraries.anthropic_ways import MODEL
from spanhook.cli.conformance.libraries.hearing import listeners
from spanhook.cli.conformance.libraries.langchain_core import CHAT_BIND, CHAT_WAYS
from spanhook.cli.conformance.libraries.runnables import V3, lacks_v3, opened
from spanhook.cli.conformance.servers.openai_replies import Reply
from spanhook.cli.conformance.subject import OVER_HTTP, Body, Subject, Use


def _chat(body: Body) -> Any:
    kind: Any = ChatAnthropic
    clients = Clients.of(body)
    made = kind(model=MODEL, max_tokens=64, base_url=str(clients.sync.base_url), api_key="test", max_retries=0)
    # Replaces LangChain's own client, which all models share, so that connections would move between event loops.
    made.__dict__.update(_client=clients.sync, _async_client=clients.later)
    return made


_ASKED: list[BaseMessage] = [
    HumanMessage("hi"),
    AIMessage("", tool_calls=[{"name": "look_up", "args": {"city": one}, "id": one} for one in ("Rome", "Bonn")]),
    ToolMessage("sunny", tool_call_id="Rome"),
    ToolMessage("rainy", tool_call_id="Bonn"),
]
_WAYS: dict[str, Use] = {
    **CHAT_WAYS,
    # LangChain merges the end of each of these into one message, which is sent in pieces.
    "after tools": lambda model: model.invoke(_ASKED),
    "after tools, streamed": lambda model: list(model.stream(_ASKED)),
    "after tools and a word": lambda model: model.invoke([*_ASKED, HumanMessage("And now?")]),
    "said twice": lambda model: model.invoke([HumanMessage("hi"), HumanMessage("there")]),
}

SUBJECTS: tuple[Subject, ...] = (
    Subject(
        "ChatAnthropic",
        "llm.call",
        _chat,
        _WAYS,
        CHAT_BIND,
        said=Reply.text,
        listeners=listeners,
        faults=OVER_HTTP,
        slow=True,
        opened=opened("hi"),
        lacking=V3 if lacks_v3(ChatAnthropic) else (),
    ),
)
