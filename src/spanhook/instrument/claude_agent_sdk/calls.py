"""One use of a tool, from the program's question whether it may to its report of the result."""

import asyncio
from collections.abc import Mapping
from contextvars import Context
from typing import Any

from spanhook.errors import HookError, Reject, RunStopped
from spanhook.instrument.claude_agent_sdk.lasting import Lasting
from spanhook.instrument.claude_agent_sdk.tools import (
    AGENT_TOOLS,
    DELEGATION,
    DELEGATION_USED,
    STARTED,
    STARTED_USED,
    TOOL,
    TOOL_USED,
    Started,
    Use,
    agent_of,
    tool_amend,
)
from spanhook.model import Adapter, Opening, exact_text

Said = dict[str, Any]
"""What a hook answers the program."""


class ToolFailed(Exception):
    """What the program reports of a tool that failed."""


def reason_of(error: BaseException) -> str:
    """Why something was refused."""
    if isinstance(error, RunStopped):
        error = error.reject
    return error.reason if isinstance(error, Reject) else f"spanhook could not decide about it: {type(error).__name__}"


def stops(error: BaseException) -> bool:
    """Whether a refusal is one of the whole run."""
    return isinstance(error, RunStopped) or (isinstance(error, Reject) and error.scope == "run")


def denied(error: BaseException) -> Said:
    """The answer that a tool may not be used."""
    reason = f"Tool call rejected: {reason_of(error)}"
    said: Said = {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": reason,
        }
    }
    return {**said, **halted(error)} if stops(error) else said


def halted(error: BaseException) -> Said:
    """The answer that the program is not to go on."""
    return {"continue_": False, "stopReason": reason_of(error)}


def with_input(given: Mapping[str, Any], asked: Mapping[str, Any]) -> Said:
    """The answer that a tool may be used, with ``given`` if the program has asked about another input.

    It grants no permission: the program decides about that afterwards.
    """
    if given == asked:
        return {}
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": dict(given)}}


class Call:
    """One use of a tool.

    Args:
        opening: Opens its operations.
        use: The use.
        context: What it happens in.

    Attributes:
        given: The input that the gates have let pass; ``None`` if they have not.
        answer: What a hook has answered in place of the tool, if one has.
        lasting: Its operation.
        run: The run of the agent that it starts, if it starts one.
        agent_id: The id of that agent, if it goes on in the background.
    """

    def __init__(self, opening: Opening, use: Use, context: Context) -> None:
        self._opening, self.use, self._context = opening, use, context
        self.given: dict[str, Any] | None = None
        self.answer: list[Any] | None = None
        self.lasting: Lasting | None = None
        self.run: Lasting | None = None
        self.agent_id = ""

    @property
    def inside(self) -> Context:
        """The context of what happens inside of it."""
        innermost = self.run or self.lasting
        return self._context if innermost is None else innermost.context

    # ----------------------------------------------------------------- whether it may be made

    async def begin(self, given: Mapping[str, Any]) -> BaseException | None:
        """Ask the gates about it; returns why they have refused it, or ``None``."""
        delegates = self.use.name in AGENT_TOOLS
        self.lasting = Lasting(
            self._opening, DELEGATION if delegates else TOOL, self.use, (dict(given),), self._context
        )
        if not await self.lasting.begin():
            if self.lasting.error is not None:
                return self.lasting.error
            self.answer, self.given = self.lasting.result, dict(given)
            return None
        self.given = let = self.lasting.args[0]
        return await self._start(let) if delegates else None

    async def _start(self, given: dict[str, Any]) -> BaseException | None:
        """Begin the run of the agent that the tool starts."""
        assert self.lasting is not None
        run = Started(agent_of(given), self.use.call_id)
        self.run = Lasting(self._opening, STARTED, run, (given.get("prompt") or "",), self.lasting.context)
        if not await self.run.begin():
            error = self.run.error or HookError("an agent cannot be answered for")
            await self.lasting.end(error)
            return error
        self.given = {**given, "prompt": self.run.args[0]}
        return None

    async def again(self, given: Mapping[str, Any]) -> BaseException | None:
        """Ask the gates about another input for it; it is not made with the one before."""
        for one in (self.run, self.lasting):
            if one is not None and one.open:
                if one.record is not None:
                    one.record.called = False
                await one.end(asyncio.CancelledError())
        self.run = self.answer = self.given = None
        return await self.begin(given)

    async def used(self, given: Mapping[str, Any]) -> BaseException | None:
        """Tell the gates of an input that they were not asked about, and that the tool has had all the same."""
        if self.use.name not in AGENT_TOOLS:
            return await self._tell(TOOL_USED, self.use, dict(given))
        refused = await self._tell(DELEGATION_USED, self.use, dict(given))
        run = Started(agent_of(given), self.use.call_id)
        return refused or await self._tell(STARTED_USED, run, given.get("prompt") or "")

    async def _tell(self, adapter: Adapter, use: Use, given: Any) -> BaseException | None:
        lasting = Lasting(self._opening, adapter, use, (given,), self.inside)
        if await lasting.begin():
            await lasting.end()
        return lasting.error

    # ----------------------------------------------------------------- its end

    async def returned(self, result: Any) -> tuple[Any, BaseException | None]:
        """It has returned: what hooks have made of the result, and why they have refused it if they have."""
        self.use.result = result
        lasting = self.lasting
        if lasting is None or not lasting.open:
            return result, None
        if self.run is not None and in_background(result):
            self.agent_id = exact_text(result.get("agentId"))
        else:
            await self.end_run(result)
        await lasting.end()
        if lasting.error is None:
            return (result if lasting.result is self.use else lasting.result), None
        return self._told(result, lasting.error), lasting.error

    def _told(self, result: Any, error: BaseException) -> Any:
        """The result that tells the model of the refusal; ``None`` if its form is not known."""
        try:
            return tool_amend(result, self.use, (), {}, f"Tool result rejected: {reason_of(error)}")
        except HookError:
            return None

    async def failed(self, error: BaseException | None = None) -> None:
        """It has failed, or was not made after all."""
        self.use.failed = True
        for one in (self.run, self.lasting):
            if one is not None and one.open:
                await one.end(error or asyncio.CancelledError())

    async def end_run(self, said: Any) -> None:
        """The agent that it has started has come to its end."""
        run = self.run
        if run is not None and run.open:
            run.instance.result = said
            await run.end()


def in_background(result: Any) -> bool:
    """Whether an agent goes on after the call that has started it."""
    return isinstance(result, Mapping) and (result.get("isAsync") is True or result.get("status") == "async_launched")
