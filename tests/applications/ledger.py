"""A provider that keeps a ledger: who asked, what it answered, and the usage that it reported for it."""

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from spanhook.cli.conformance.servers.openai_server import Call, Reply, Tokens
from spanhook.cli.conformance.servers.requests import Line, Seen
from spanhook.cli.conformance.subject import Body
from spanhook.testing import Recorder

Json = dict[str, Any]
Turn = str | list[tuple[str, Json]]
"""What a model says: a text, or the tools that it calls with their arguments."""


class Ledger(Line):
    """The requests of one application, each answered in character and billed with a usage of its own.

    Args:
        plays: What the model says to a request.
    """

    def __init__(self, plays: Callable[[Json], Turn]) -> None:
        super().__init__(Body(), lambda _seen: 0)
        self.bills: list[Tokens] = []
        self._plays, self._lock, self._here = plays, threading.Lock(), threading.local()

    def append(self, seen: Seen, /) -> None:
        super().append(seen)
        self._here.seen = seen

    def reply(self, usual: Reply) -> Reply:
        with self._lock:
            number = len(self.bills)
            used = Tokens(100 + 13 * number, 20 + 7 * number, 10 * (number % 3), reasoning=5 * (number % 2))
            self.bills.append(used)
        turn = self._plays(self._here.seen.body)
        if isinstance(turn, str):
            return replace(usual, text=turn, tokens=used, usage="always")
        calls = tuple(Call(name, given, f"call_{number}_{index}") for index, (name, given) in enumerate(turn))
        return replace(usual, text="", calls=calls, tokens=used, usage="always")

    @property
    def totals(self) -> tuple[int, int, int, int]:
        """Requests, input tokens, output tokens, and input tokens from the cache."""
        bills = self.bills
        return (
            len(bills),
            sum(one.input for one in bills),
            sum(one.output for one in bills),
            sum(one.cached for one in bills),
        )


def counted(seen: Recorder) -> tuple[int, int, int, int]:
    """The same as the run says, in its totals."""
    used = seen.operations[-1].usage
    return used.llm_calls, used.input_tokens, used.output_tokens, used.cache_read_tokens


def measured(seen: Recorder) -> tuple[int, int]:
    """Input and output tokens as the metric of the conventions says."""
    sums = dict.fromkeys(("input", "output"), 0)
    for attributes, (total, _count) in seen.metrics()["gen_ai.client.token.usage"]:
        sums[attributes["gen_ai.token.type"]] += total
    return sums["input"], sums["output"]


def said(body: Json) -> str:
    """All text of a request, its system prompt included."""
    texts: list[str] = []

    def collect(value: Any) -> None:
        if isinstance(value, str):
            texts.append(value)
        elif isinstance(value, dict):
            for one in value.values():
                collect(one)
        elif isinstance(value, list):
            for one in value:
                collect(one)

    collect(body.get("system"))
    collect(body.get("messages"))
    return "\n".join(texts)


def tools_of(body: Json) -> set[str]:
    """The names of the tools that a request offers."""
    return {one.get("name") or one["function"]["name"] for one in body.get("tools") or ()}


def called(body: Json) -> list[str]:
    """The names of the tools that were called in a conversation so far, in order."""
    names: list[str] = []
    for message in body["messages"]:
        names += [one["function"]["name"] for one in message.get("tool_calls") or ()]
        content = message.get("content")
        if isinstance(content, list):
            names += [one["name"] for one in content if one.get("type") == "tool_use"]
    return names
