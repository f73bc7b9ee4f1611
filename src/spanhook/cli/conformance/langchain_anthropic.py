"""What of LangChain is gated over Anthropic's client, against a server on loopback."""

from typing import Any

from langchain_anthropic import ChatAnthropic

from spanhook.cli.conformance.anthropic import Clients
from spanhook.cli.conformance.anthropic_ways import MODEL
from spanhook.cli.conformance.hearing import listeners
from spanhook.cli.conformance.langchain_core import CHAT_BIND, CHAT_WAYS
from spanhook.cli.conformance.openai_replies import Reply
from spanhook.cli.conformance.runnables import V3, lacks_v3
from spanhook.cli.conformance.subject import Body, Subject


def _chat(body: Body) -> Any:
    kind: Any = ChatAnthropic
    clients = Clients.of(body)
    made = kind(model=MODEL, max_tokens=64, base_url=str(clients.sync.base_url), api_key="test", max_retries=0)
    # In place of its own, which all models share, so that connections go from one event loop to another.
    made.__dict__.update(_client=clients.sync, _async_client=clients.later)
    return made


SUBJECTS: tuple[Subject, ...] = (
    Subject(
        "ChatAnthropic",
        "llm.call",
        _chat,
        CHAT_WAYS,
        CHAT_BIND,
        said=Reply.text,
        listeners=listeners,
        lacking=V3 if lacks_v3(ChatAnthropic) else (),
    ),
)
