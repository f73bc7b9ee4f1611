"""Sessions whose model says what a test has written down: the SDK and its real program, over a server on loopback."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio

from spanhook.cli.conformance.libraries.claude_agent_sdk_ways import options, sdk
from spanhook.cli.conformance.servers.openai_replies import Call, Reply, Tokens
from spanhook.cli.conformance.servers.requests import Line, Seen
from spanhook.cli.conformance.subject import Body
from spanhook.testing import Recorder

DONE = "all done"
OTHER = "Look around, agent."
"""What an agent is asked; its own model's turns follow from it."""


class Script(Line):
    """The requests of one session, and what each conversation gets in answer, one turn after the other.

    Args:
        turns: The turns of the program's own conversation; from the last one on, it is done.
        agent: Those of the agent that it starts.
    """

    def __init__(self, *turns: Reply, agent: tuple[Reply, ...] = ()) -> None:
        super().__init__(Body(), lambda _seen: 0)
        self._turns, self._agent = list(turns), list(agent)
        self._next: list[Reply] = self._turns

    def append(self, seen: Seen, /) -> None:
        list.append(self, seen)
        self._next = self._agent if OTHER in json.dumps(seen.body["messages"][0]) else self._turns

    def reply(self, usual: Reply) -> Reply:
        del usual
        return self._next.pop(0) if self._next else Reply(text=DONE)

    def told(self, call_id: str) -> Any:
        """What the model was told that a tool has returned; ``None`` if nothing."""
        for seen in self:
            for message in seen.body["messages"]:
                for block in message["content"] if isinstance(message["content"], list) else ():
                    if block.get("tool_use_id") == call_id:
                        content = block.get("content")
                        text = content if isinstance(content, str) else "".join(one["text"] for one in content or ())
                        return text.partition("<system-reminder>")[0].strip()
        return None

    @property
    def tokens(self) -> int:
        """What the server has reported."""
        return len(self) * Tokens().total


def use(name: str, call_id: str = "toolu_1", **given: Any) -> Call:
    return Call(name, given, call_id)


def bash(command: str, call_id: str = "toolu_1") -> Call:
    return use("Bash", call_id, command=command, description="a command")


def ask(line: Script, prompt: Any = "hello", backend: str = "asyncio", **given: Any) -> list[Any]:
    """All messages of one ``query()``."""

    async def main() -> list[Any]:
        return [message async for message in sdk.query(prompt=prompt, options=options(line, **given))]

    return anyio.run(main, backend=backend)


def converse(line: Script, *prompts: str, **given: Any) -> list[Any]:
    """The results of the turns of one client; exceptions in their place."""

    async def main() -> list[Any]:
        found: list[Any] = []
        async with sdk.ClaudeSDKClient(options(line, **given)) as client:
            for prompt in prompts:
                try:
                    await client.query(prompt)
                    found += [one async for one in client.receive_response() if isinstance(one, sdk.ResultMessage)]
                except Exception as error:
                    found.append(error)
        return found

    return anyio.run(main)


def result(messages: list[Any]) -> Any:
    (found,) = [message for message in messages if isinstance(message, sdk.ResultMessage)]
    return found


async def streamed(*prompts: str) -> Any:
    """A stream of prompts, which then stays open no longer."""
    for prompt in prompts:
        yield {"type": "user", "message": {"role": "user", "content": prompt}, "session_id": "one"}


def nested(seen: Recorder) -> list[tuple[str, str]]:
    """The name of each span of ours, and of the one that it is inside of, in the order in which they begin."""
    mine = [span for span in seen.spans if "spanhook.kind" in (span.attributes or {})]
    names = {span.context.span_id: span.name for span in mine if span.context is not None}
    mine.sort(key=lambda span: span.start_time or 0)
    return [(span.name, names[span.parent.span_id] if span.parent is not None else "") for span in mine]


def statuses(seen: Recorder, kind: str) -> list[str]:
    return [op.status for op in seen.operations if op.kind == kind]


def decisions(seen: Recorder, kind: str) -> list[str]:
    return [one.decision for op in seen.operations if op.kind == kind for one in op.decisions]


def wrote(where: Path, text: str = "x") -> str:
    """A command that leaves a trace."""
    return f"echo {text} >> {where}; echo wrote"


Answering = Callable[[Any, Any, Any], Any]


def hook(seen: list[Any], answer: Any = None) -> Answering:
    """A hook of the application's own, in the SDK's form."""

    async def told(given: Any, call_id: Any, _context: Any) -> Any:
        seen.append((given["hook_event_name"], given.get("tool_name"), given.get("tool_input"), call_id))
        return dict(answer or {})

    return told
