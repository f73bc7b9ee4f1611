"""Models of Pydantic AI over Anthropic's client, in versions that spanhook binds: version 1 needs an older client."""

from typing import Any

from anthropic import DEFAULT_CONNECTION_LIMITS, AsyncAnthropic, DefaultAsyncHttpxClient
from pydantic_ai import Agent
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.providers.anthropic import AnthropicProvider

from spanhook.cli.conformance.libraries.anthropic import counting_into
from spanhook.cli.conformance.libraries.pydantic_ai_ways import ASK, MODEL_OPENED, MODEL_WAYS, RUN_WAYS, Run
from spanhook.cli.conformance.servers.authorities import NO_CERTIFICATES
from spanhook.cli.conformance.servers.openai_replies import Reply
from spanhook.cli.conformance.subject import OVER_HTTP, Body, Subject

_ONCE = type(DEFAULT_CONNECTION_LIMITS)(max_keepalive_connections=0)  # a connection is not reused on another event loop
_HTTP: dict[str, Any] = {"asked": ASK, "faults": OVER_HTTP, "slow": True, "said": Reply.text}


def anthropic_model(body: Body) -> AnthropicModel:
    """A model whose requests count as runs of ``body``."""
    return model_at(counting_into(body))


def model_at(url: str) -> AnthropicModel:
    """A model of the server at this address."""
    http = DefaultAsyncHttpxClient(verify=NO_CERTIFICATES, limits=_ONCE)
    client = AsyncAnthropic(base_url=url, api_key="test", max_retries=0, http_client=http)
    return AnthropicModel("claude-haiku-4-5", provider=AnthropicProvider(anthropic_client=client))


def _asking(body: Body) -> Run:
    return Run(Agent(anthropic_model(body), name="helper", instructions="Be brief."))


SUBJECTS = (
    Subject("Pydantic AI's Anthropic model", "llm.call", anthropic_model, MODEL_WAYS, {}, opened=MODEL_OPENED, **_HTTP),
    Subject("a Pydantic AI agent's Anthropic model", "llm.call", _asking, RUN_WAYS, {}, **_HTTP),
)
