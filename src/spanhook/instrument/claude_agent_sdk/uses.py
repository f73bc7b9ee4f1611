"""The tools that are used in a session: the program asks a hook of ours before, and tells one after."""

from collections.abc import Iterator, Mapping
from typing import Any

from spanhook.instrument.claude_agent_sdk.calls import (
    Call,
    Said,
    ToolFailed,
    denied,
    halted,
    in_background,
    stops,
    with_input,
)
from spanhook.instrument.claude_agent_sdk.conversations import MAIN, Conversations
from spanhook.instrument.claude_agent_sdk.lasting import Lasting
from spanhook.instrument.claude_agent_sdk.theirs import Theirs
from spanhook.instrument.claude_agent_sdk.tools import Use
from spanhook.model import Opening, exact_text

EVENTS = ("PreToolUse", "PostToolUse", "PostToolUseFailure", "SubagentStop")
"""The events of the program that a hook of ours is bound to."""


class Uses:
    """The uses of tools in one session.

    Args:
        opening: Opens operations.
        talks: The conversations that they belong to.
        servers: Names of the servers of tools in this process.

    Attributes:
        calls: Those that are under way, by the ids of the model's calls.
        halted: Why the program is not to go on, if it is not.
    """

    def __init__(self, opening: Opening, talks: Conversations) -> None:
        self._opening, self._talks = opening, talks
        self._theirs: dict[tuple[str, str], Theirs] = {}
        self.servers: Mapping[str, Any] = {}
        self.calls: dict[str, Call] = {}

    def theirs(self, event: str, given: Mapping[str, Any]) -> Theirs:
        """What the hooks of the application answer about one use of a tool."""
        return self._theirs.setdefault((event, str(given.get("tool_use_id"))), Theirs())

    def asked(self, event: str, given: Mapping[str, Any], request_id: str) -> None:
        """The program asks a hook of the application."""
        if event in EVENTS:  # ours waits for no others
            self.theirs(event, given).asked(request_id)

    def dropped(self, request_id: str) -> None:
        """The program waits no longer for what it has asked a hook of the application."""
        for theirs in self._theirs.values():
            theirs.dropped(request_id)

    async def _answers(self, event: str, given: Mapping[str, Any]) -> Theirs:
        """What they have answered, once all have."""
        theirs = self.theirs(event, given)
        await theirs.all()
        self._theirs.pop((event, str(given.get("tool_use_id"))), None)
        return theirs

    def call(self, use: Use, around: Call | None = None) -> Call:
        """A use of a tool, in the conversation that it belongs to or inside of another use."""
        inside = self._talks.inside(self._talks.key_of(use.call_id)) if around is None else around.inside
        return Call(self._opening, use, inside)

    # ----------------------------------------------------------------- before and after

    async def before(
        self, given: Mapping[str, Any], stopped: BaseException | None
    ) -> tuple[Said, BaseException | None]:
        """The program asks whether a tool may be used: what it is told, and why the gates refuse if they do.

        Args:
            given: What it asks.
            stopped: Why the turn is being stopped, if it is.
        """
        name, call_id = exact_text(given.get("tool_name")), str(given.get("tool_use_id"))
        theirs = await self._answers("PreToolUse", given)
        if theirs.denied:
            return {}, None
        if stopped is not None:
            return {**denied(stopped), **halted(stopped)}, None
        asked = dict(given.get("tool_input") or {})
        call = self.calls[call_id] = self.call(Use(name, call_id, local=self._is_local(name)))
        refused = await call.begin(asked if theirs.input is None else theirs.input)
        if refused is not None:
            self.calls.pop(call_id, None)
            return denied(refused), refused
        if call.run is not None:
            self._talks.remember(call_id, call)
        return with_input(call.given or {}, asked), None

    def _is_local(self, name: str) -> bool:
        return any(name.startswith(f"mcp__{server}__") for server in self.servers)

    async def after(self, given: Mapping[str, Any]) -> tuple[Said, BaseException | None]:
        """The program reports what a tool has returned: what it is told, and why that is refused if it is.

        A refusal that the model cannot be told of in the place of the result is one of the whole turn.
        """
        call_id, result = str(given.get("tool_use_id")), given.get("tool_response")
        theirs = await self._answers("PostToolUse", given)
        result = result if theirs.output is None else theirs.output
        call = self.calls.pop(call_id, None) or self.call(Use(exact_text(given.get("tool_name")), call_id))
        call.use.result = result
        refused = await self._checked(call, dict(given.get("tool_input") or {}))
        if refused is not None:
            await call.failed(refused)
            return {}, refused
        if call.run is not None and not in_background(result):
            await self._talks.end_answer(call_id, shown=False)
        told, refused = await call.returned(result)
        said = {} if told is None or told is given.get("tool_response") else _with_output(told)
        return said, refused if refused is not None and (told is None or stops(refused)) else None

    async def _checked(self, call: Call, used: dict[str, Any]) -> BaseException | None:
        """Tell the gates of a tool that has run with an input that they have not let pass."""
        if call.answer is not None or (call.given is not None and _same_input(call.given, used)):
            return None
        return await call.used(used)

    async def failed(self, given: Mapping[str, Any]) -> None:
        """The program reports that a tool has failed."""
        await self._answers("PostToolUseFailure", given)
        call = self.calls.pop(str(given.get("tool_use_id")), None)
        if call is not None:
            await call.failed(ToolFailed(str(given.get("error") or "")))

    # ----------------------------------------------------------------- what becomes of them

    async def resulted(self, block: Mapping[str, Any]) -> BaseException | None:
        """A result goes to the model: the tool has run by now, or was refused.

        Returns:
            Why the gates refuse a tool that has run without being asked about, or ``None``.
        """
        call_id, is_error = str(block.get("tool_use_id")), bool(block.get("is_error"))
        asked = self._talks.asked.get(call_id)
        call = self.calls.pop(call_id, None)
        if call is not None:
            await call.failed(ToolFailed(str(block.get("content"))) if is_error else None)
        refused = None
        if asked is not None and not asked.gated and not is_error:
            unasked = self.call(Use(asked.name, call_id))
            unasked.use.result = block.get("content")
            refused = await unasked.used(dict(asked.given))
        self._talks.asked.pop(call_id, None)
        return refused

    async def agent_ended(self, given: Mapping[str, Any]) -> None:
        """The program reports that an agent has come to its end."""
        agent_id = given.get("agent_id")
        for call_id, call in self._talks.agents.items():
            if agent_id and call.agent_id == agent_id:
                await self._talks.end_answer(call_id, shown=False)
                await call.end_run(given.get("last_assistant_message"))

    async def drop(self, *, all_of_them: bool) -> None:
        """A turn is over: end the uses of its tools that have no result, but not those of agents in the background."""
        for call_id, call in list(self.calls.items()):
            if all_of_them or self._talks.key_of(call_id) == MAIN:
                del self.calls[call_id]
                await call.failed()
        for call_id, asked in list(self._talks.asked.items()):
            if all_of_them or asked.key == MAIN:
                del self._talks.asked[call_id]

    def under_way(self) -> Iterator[Lasting]:
        """The operations that have not ended, the inner ones first."""
        for call in (*self.calls.values(), *self._talks.agents.values()):
            for one in (call.run, call.lasting):
                if one is not None and one.open:
                    yield one


def _with_output(told: Any) -> Said:
    return {"hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedToolOutput": told}}


def _same_input(gated: Mapping[str, Any], used: Mapping[str, Any]) -> bool:
    """Whether a tool has run with what the gates have let pass; the program adds defaults to that."""
    return all(used.get(name) == value for name, value in gated.items())
