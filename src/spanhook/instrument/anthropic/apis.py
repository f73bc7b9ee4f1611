"""Which of Anthropic's APIs a call is, and how its SDK carries it."""

from typing import Any

from spanhook.instrument.formats.anthropic import Batches, Messages
from spanhook.instrument.layers import ANTHROPIC
from spanhook.instrument.stainless import StainlessTransport, chooser
from spanhook.instrument.wire import Payload, Servers, adapted

_AWS, _GOOGLE = "aws.bedrock", "gcp.vertex_ai"
_PLATFORMS = {"BaseBedrockClient": _AWS, "BaseMantleClient": _AWS, "BaseVertexClient": _GOOGLE}
_ITSELF = {"BaseFoundryClient": "anthropic", "BaseGoogleCloudClient": "anthropic"}  # as in the SDK


class _AnthropicTransport(StainlessTransport):
    def chunk_like(self, chunk: Any, value: Payload) -> Any:
        if type(chunk).__name__.startswith("Beta"):
            from anthropic.types.beta import BetaRawMessageStreamEvent as Kind
        else:
            from anthropic.types import RawMessageStreamEvent as Kind
        return self.sdk.construct(type_=Kind, value=value)


TRANSPORT = _AnthropicTransport("anthropic", Servers("anthropic", {**_PLATFORMS, **_ITSELF}))
server_of = TRANSPORT.server_at
MESSAGES = adapted(Messages(), TRANSPORT, ANTHROPIC)
choose = chooser({"/v1/messages": MESSAGES, "/v1/messages/batches": adapted(Batches(), TRANSPORT, ANTHROPIC)})
