"""Requests of agents' models to OpenAI's APIs, which the server answers in turns."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from openai import AsyncOpenAI

from spanhook.cli.conformance.libraries.openai import connections, serving
from spanhook.cli.conformance.servers.openai_server import Reply, Tokens
from spanhook.cli.conformance.servers.requests import Line, Seen
from spanhook.cli.conformance.subject import Body

Turn = Any
"""An answer of a model: its text, the function calls that it makes as pairs of name and JSON, or output items."""


def tokens(seen: Seen) -> int:
    """The usage that the server reports for a request."""
    streams = seen.body.get("stream")
    options: dict[str, Any] = seen.body.get("stream_options") or {}
    return Reply.tokens.total if not streams or "/responses" in seen.path or options.get("include_usage") else 0


class Script(Line):
    """The requests of one model, answered in turns: turn n, once n turns' calls have results.

    Args:
        body: What counts them.
        turns: The answers; the last one also to every later request. None for the usual one.
        used: The usage that the server reports.
    """

    def __init__(self, body: Body, turns: Sequence[Turn], used: Tokens) -> None:
        super().__init__(body, tokens)
        self._turns, self._used = turns, used

    def reply(self, usual: Reply) -> Reply:
        usual = replace(super().reply(usual), tokens=self._used)
        if not self._turns or usual.status != 200:
            return usual
        asked = self[-1].body
        given: Any = asked.get("input") or asked.get("messages")
        done = 0 if isinstance(given, str) else sum(map(_is_result, given))
        turn = self._turns[min(done, len(self._turns) - 1)]
        if isinstance(turn, str):
            return replace(usual, text=turn)
        items = [_item(f"{done}_{number}", one) for number, one in enumerate(turn)]
        return replace(usual, items=tuple(items))


def _is_result(item: dict[str, Any]) -> bool:
    return str(item.get("type")).endswith("_output") or item.get("role") == "tool"


def _item(number: str, given: Any) -> dict[str, Any]:
    if isinstance(given, dict):
        return {"id": f"item_{number}", "call_id": f"call_{number}", "status": "completed", **given}
    name, arguments = given
    made = {"id": f"fc_{number}", "type": "function_call", "status": "completed", "call_id": f"call_{number}"}
    return {**made, "name": name, "arguments": arguments}


def scripted_client(body: Body, turns: Sequence[Turn] = (), used: Tokens = Reply.tokens) -> AsyncOpenAI:
    """A client whose requests count as runs of ``body``, and are answered in turns if these are given."""
    return client_of(serving(Script(body, turns, used)))


def client_of(url: str) -> AsyncOpenAI:
    """A client of the server at this address, which may be used in several event loops."""
    return AsyncOpenAI(base_url=url, api_key="test", max_retries=0, http_client=connections()["http_async_client"])
