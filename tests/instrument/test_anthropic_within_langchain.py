"""A stream of Anthropic's that LangChain reads is counted as its provider reports it, however often it does."""

from typing import Any

import pytest
from langchain_anthropic import ChatAnthropic

from spanhook.cli.conformance.servers.anthropic_server import AnthropicServer, message
from spanhook.cli.conformance.servers.openai_replies import Reply, Tokens
from spanhook.testing import recorder
from tests.model.test_layer_count import counted

pytestmark = pytest.mark.slow  # where the package is
TOKENS = Tokens(140, 42, cached=100, written=30)


def events(*deltas: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    """A stream of Anthropic's with these counts at its end, after the usual ones at its start."""
    whole = message({}, Reply(tokens=TOKENS))
    begun = {**whole, "content": [], "stop_reason": None, "usage": {**whole["usage"], "output_tokens": 1}}
    block = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    text = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hello"}}
    ends = [
        {"type": "message_delta", "delta": {"stop_reason": None, "stop_sequence": None}, "usage": usage}
        for usage in deltas
    ]
    ends[-1]["delta"] = {"stop_reason": "end_turn", "stop_sequence": None}
    start, stop = {"type": "message_start", "message": begun}, {"type": "content_block_stop", "index": 0}
    return (start, block, text, stop, *ends, {"type": "message_stop"})


FULL = {"input_tokens": 10, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 30, "output_tokens": 42}


@pytest.mark.parametrize(
    "ends",
    [
        (FULL,),
        ({**FULL, "output_tokens": 20}, FULL),
        ({"output_tokens": 42},),
        (dict.fromkeys(FULL, 0) | {"output_tokens": 42},),
    ],
    ids=["once", "running totals", "without input", "input of 0"],
)
def test_anthropic_below_langchain(ends: tuple[dict[str, Any], ...]) -> None:
    with AnthropicServer() as server:
        server.reply = Reply(events=events(*ends))
        made: Any = ChatAnthropic
        model = made(model="claude-haiku-4-5", max_tokens=64, base_url=server.url, api_key="test", max_retries=0)
        with recorder() as seen:
            list(model.stream("hi"))
        assert counted(seen) == (140, 42, 100, 30, "provider")
