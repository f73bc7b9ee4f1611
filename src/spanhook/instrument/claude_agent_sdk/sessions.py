"""A session with the program: what its messages mean, and how a refusal stops a turn."""

import asyncio
import json
import weakref
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from typing import Any
from uuid import uuid4

from spanhook.diagnostics import internal
from spanhook.identity import ByIdentity
from spanhook.instrument.claude_agent_sdk.answering import answered
from spanhook.instrument.claude_agent_sdk.calls import Said, halted
from spanhook.instrument.claude_agent_sdk.conversations import MAIN, Conversations
from spanhook.instrument.claude_agent_sdk.lasting import Lasting
from spanhook.instrument.claude_agent_sdk.refused import Refused
from spanhook.instrument.claude_agent_sdk.turns import NAME, TURN, Turn
from spanhook.instrument.claude_agent_sdk.uses import Uses
from spanhook.model import Opening, copied, exact_text

streaming: ContextVar[bool] = ContextVar("spanhook_prompts_streaming", default=False)
"""Prompts come from a stream: nobody waits for them to be written, so a refusal comes where messages are read."""
_sessions = ByIdentity[Any, "Session"]()


def session_of(query: Any) -> "Session | None":
    """The session that accompanies a ``Query``; ``None`` if it was created before."""
    return _sessions.get(query)


class Session:
    """One session, from the creation of a ``Query`` until its transport is closed.

    Args:
        opening: Opens operations.
        options: The application's options, if the transport knows them.

    Attributes:
        uses: The tools that are used in it.
        write: The method by which the transport writes, without us.
        requests: Ids that requests to servers in this process have there, by server and id.
    """

    def __init__(self, opening: Opening, options: Any) -> None:
        self._opening = opening
        self._agent = exact_text((getattr(options, "extra_args", None) or {}).get("agent")) or NAME
        self._session_id = exact_text(getattr(options, "resume", None))
        self._talks = Conversations(opening, exact_text(getattr(options, "model", None)))
        self._query: Any = None
        self._turns: list[Lasting] = []
        self._behind: list[Lasting] = []
        self._waking: dict[str, list[Any]] = {}
        self._stopped: BaseException | None = None
        self._left: Callable[[], BaseException] = GeneratorExit
        self.uses = Uses(opening, self._talks)
        self.write: Callable[[str], Awaitable[None]]
        self.requests: dict[tuple[str, Any], str] = {}

    def join(self, query: Any) -> None:
        """Accompany a ``Query`` that was created with this session's transport and hooks."""
        self._query = weakref.ref(query)
        self.uses.servers = query.sdk_mcp_servers
        _sessions[query] = self

    # ----------------------------------------------------------------- prompts

    async def prompted(self, said: dict[str, Any]) -> dict[str, Any] | None:
        """A prompt is to be written: returns what is written instead, or ``None`` if nothing is.

        Raises:
            Reject: A hook has refused it.
        """
        message: Mapping[str, Any] = said.get("message") or {}
        turn = await self._begin(message.get("content"))
        if turn.went:
            content = turn.args[0]
            return said if content == message.get("content") else {**said, "message": {**message, "content": content}}
        if turn.error is None:
            await self._wake(answered(str(turn.result), self._session_id))
        elif streaming.get():
            await self._wake([Refused(turn.error)])
        else:
            raise turn.error
        return None

    async def _begin(self, content: Any) -> Lasting:
        """Begin a turn."""
        facts = Turn(self._agent, self._session_id)
        turn = Lasting(self._opening, TURN, facts, (content,), dropped=GeneratorExit)
        if await turn.begin():
            self._turns.append(turn)
            self._talks.context = self._turns[0].context
        return turn

    # ----------------------------------------------------------------- what the program says

    async def heard(self, message: Any) -> tuple[Any, ...]:
        """A message of the program: returns what the SDK gets in its place."""
        hear = _HEARING.get(message.get("type")) if isinstance(message, Mapping) else None
        if hear is not None:
            try:
                told = await hear(self, copied(message))  # what the application gets shares its dicts
            except Exception as error:
                internal.report("claude_agent_sdk", error)
            else:
                if told is not None:
                    return told
        return () if self._stopped is not None and not _is_control(message) else (message,)

    async def _system(self, said: Mapping[str, Any]) -> None:
        if said.get("subtype") == "task_started":
            self._talks.note_agent(said.get("task_id"), str(said.get("tool_use_id") or MAIN))
        if said.get("subtype") == "session_state_changed" and said.get("state") == "idle":
            await self._end_taken_in()
        if said.get("subtype") != "init":
            return
        self._session_id = exact_text(said.get("session_id") or self._session_id)
        self._talks.model = exact_text(said.get("model") or self._talks.model)
        if not self._turns:  # the program goes on by itself, such as with what an agent in the background has found
            turn = await self._begin("")
            if not turn.went:
                await self._stop_if(turn.error)
                return
        await self._ask(MAIN, self._turns[0].args[0])

    async def _assistant(self, said: Mapping[str, Any]) -> None:
        self._talks.note_agent(said.get("agent_id"), _key(said))
        if self._stopped is None:
            await self._stop_if(await self._talks.answering(_key(said), said.get("message") or {}))

    async def _user(self, said: Mapping[str, Any]) -> None:
        """What tools have returned is about to go to the model."""
        key, content = _key(said), (said.get("message") or {}).get("content")
        results = [one for one in content if one.get("type") == "tool_result"] if isinstance(content, list) else []
        for one in results:
            await self._stop_if(await self.uses.resulted(one))
        is_first = key != MAIN and not results  # what an agent is asked
        if is_first or (results and not self._talks.waits(key)):
            await self._ask(key, content)

    async def _ask(self, key: str, content: Any) -> None:
        """The model is about to be called."""
        if self._stopped is None:
            await self._stop_if(await self._talks.ask(key, content))

    async def _result(self, said: Mapping[str, Any]) -> tuple[Any, ...] | None:
        """A turn has come to its end."""
        stopped = self._stopped
        await self._talks.sum_up(said)
        self._stopped = None
        await self.uses.drop(all_of_them=stopped is not None)
        turn = self._turns.pop(0) if self._turns else None
        self._behind = list(self._turns)
        for one in reversed(self._behind):
            one.instance.said, self._talks.context = said, one.context
        if turn is not None:
            turn.instance.said = said
            await turn.end(stopped)
            stopped = turn.error or stopped
        return None if stopped is None else (Refused(stopped),)

    async def _end_taken_in(self) -> None:
        """The program has nothing left to do: what was written while a turn was under way, it has taken into that."""
        taken_in, self._behind = self._behind, []
        for turn in [one for one in taken_in if one in self._turns]:
            self._turns.remove(turn)
            await turn.end()
        for turn in self._turns[:1]:
            self._talks.context = turn.context

    async def _request(self, said: Mapping[str, Any]) -> None:
        """The program asks something: a hook, among others."""
        asked: Mapping[str, Any] = said.get("request") or {}
        if asked.get("subtype") != "hook_callback":
            return
        given: Mapping[str, Any] = asked.get("input") or {}
        event, request_id = exact_text(given.get("hook_event_name")), str(said.get("request_id"))
        if not isinstance(self._callback(str(asked.get("callback_id"))), Ours):
            self.uses.asked(event, given, request_id)
        elif event == "PreToolUse":
            await self._talks.end_answer(self._talks.gated(given).key)

    def _callback(self, callback_id: str) -> Any:
        query = self._query() if self._query is not None else None
        return None if query is None else query.hook_callbacks.get(callback_id)

    async def _cancelled(self, said: Mapping[str, Any]) -> None:
        """The program waits for an answer no longer."""
        self.uses.dropped(str(said.get("request_id")))

    async def _response(self, said: Mapping[str, Any]) -> tuple[Any, ...] | None:
        """The program answers; to what a session has asked, with what that was to wake the SDK for."""
        told: Mapping[str, Any] = said.get("response") or {}
        found = self._waking.pop(str(told.get("request_id")), None)
        return None if found is None else tuple(found)

    # ----------------------------------------------------------------- what it asks hooks of ours

    async def before(self, given: Mapping[str, Any]) -> Said:
        said, refused = await self.uses.before(given, self._stopped)
        await self._stop_if(refused if refused is not None and "stopReason" in said else None)
        return said

    async def after(self, given: Mapping[str, Any]) -> Said:
        said, refused = await self.uses.after(given)
        await self._stop_if(refused)
        return {**said, **self._halted()}

    async def failed(self, given: Mapping[str, Any]) -> Said:
        await self.uses.failed(given)
        return self._halted()

    async def agent_ended(self, given: Mapping[str, Any]) -> Said:
        await self.uses.agent_ended(given)
        return {}

    def _halted(self) -> Said:
        return {} if self._stopped is None else halted(self._stopped)

    # ----------------------------------------------------------------- the end

    async def _stop_if(self, error: BaseException | None) -> None:
        if error is not None:
            await self.stop(error)

    async def stop(self, error: BaseException) -> None:
        """Stop the turn that is under way: the application gets ``error`` in place of its result."""
        if not self._turns:
            await self._wake([Refused(error)])
        elif self._stopped is None:
            self._stopped = error
            await self._control("interrupt")

    async def _wake(self, messages: list[Any]) -> None:
        """Give the SDK messages of ours: in place of the program's answer to a question that nobody else asks."""
        self._waking[await self._control("mcp_status")] = messages

    async def _control(self, subtype: str) -> str:
        request_id = f"spanhook_{uuid4().hex}"
        asked = {"type": "control_request", "request_id": request_id, "request": {"subtype": subtype}}
        await self.write(json.dumps(asked) + "\n")
        return request_id

    def leave(self, error: BaseException | None) -> None:
        """The program says no more: end what is under way, without waiting for hooks."""
        for lasting in (*self._talks.under_way(), *self.uses.under_way()):
            lasting.leave(error or asyncio.CancelledError())
        for turn in self._turns:
            turn.leave(error or self._left())

    def consumer_left(self, error: BaseException) -> None:
        """The application has stopped to read messages."""
        self._left = GeneratorExit if isinstance(error, GeneratorExit) else asyncio.CancelledError

    async def over(self) -> None:
        """The transport is being closed: end what is under way."""
        under_way = (*self._talks.under_way(), *self.uses.under_way(), *self._turns)
        self.leave(None)
        for lasting in under_way:
            await lasting.end()
        self._turns.clear()


_HEARING: dict[Any, Any] = {
    "system": Session._system,
    "assistant": Session._assistant,
    "user": Session._user,
    "result": Session._result,
    "control_request": Session._request,
    "control_cancel_request": Session._cancelled,
    "control_response": Session._response,
}


class Ours:
    """Our hook for one event of a session."""

    def __init__(self, event: str, session: Session) -> None:
        self._answer = {
            "PreToolUse": session.before,
            "PostToolUse": session.after,
            "PostToolUseFailure": session.failed,
            "SubagentStop": session.agent_ended,
        }[event]

    async def __call__(self, given: Any, _tool_use_id: Any, _context: Any) -> Any:
        return await self._answer(given)


def _key(said: Mapping[str, Any]) -> str:
    """The conversation that a message belongs to."""
    return str(said.get("parent_tool_use_id") or MAIN)


def _is_control(message: Any) -> bool:
    return isinstance(message, Mapping) and str(message.get("type")).startswith("control_")
