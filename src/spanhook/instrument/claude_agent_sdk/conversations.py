"""The conversations of a session with the model: the program's own, and those of the agents that it starts."""

from collections.abc import Iterator, Mapping
from contextvars import Context, copy_context
from dataclasses import dataclass
from typing import Any

from spanhook.instrument.claude_agent_sdk.calls import Call
from spanhook.instrument.claude_agent_sdk.lasting import Lasting
from spanhook.instrument.claude_agent_sdk.models import Answer, Thread
from spanhook.instrument.claude_agent_sdk.sums import Sums
from spanhook.model import Opening, exact_text

MAIN = ""
"""The key of the program's own conversation; those of its agents have the id of the call that started them."""
_MOST_AGENTS = 1000


@dataclass(slots=True)
class Asked:
    """A tool that the model has asked for.

    Attributes:
        key: The conversation.
        name: The tool.
        given: Its input, as the model has it.
        gated: The program has asked whether it may be used.
    """

    key: str
    name: str
    given: Mapping[str, Any]
    gated: bool = False


class Conversations:
    """The conversations of one session.

    Args:
        opening: Opens operations.
        model: The model that the application has asked for, if any.

    Attributes:
        context: The context of the turn, or where the session was created.
        model: The model that the program uses.
        asked: Tools that models have asked for, and whose results are not back yet.
        agents: The calls that have started agents, by their ids.
    """

    def __init__(self, opening: Opening, model: str) -> None:
        self._opening = opening
        self._threads: dict[str, Thread] = {}
        self._sums = Sums()
        self.context, self.model = copy_context(), model
        self.asked: dict[str, Asked] = {}
        self.agents: dict[str, Call] = {}
        self._keys: dict[str, str] = {}

    def note_agent(self, agent_id: Any, key: str) -> None:
        """Note the conversation of an agent."""
        if agent_id and key != MAIN:
            self._keys[exact_text(agent_id)] = key

    def gated(self, given: Mapping[str, Any]) -> Asked:
        """Note that the program asks whether a tool may be used."""
        key = self._keys.get(exact_text(given.get("agent_id")), MAIN)
        asked = Asked(key, exact_text(given.get("tool_name")), given.get("tool_input") or {})
        asked = self.asked.setdefault(str(given.get("tool_use_id")), asked)
        asked.gated = True
        return asked

    def remember(self, call_id: str, call: Call) -> None:
        """Note a call that has started an agent."""
        if len(self.agents) >= _MOST_AGENTS:
            self.agents.pop(next(iter(self.agents)))
        self.agents[call_id] = call

    def key_of(self, call_id: str) -> str:
        """The conversation in which a tool was asked for."""
        asked = self.asked.get(call_id)
        return MAIN if asked is None else asked.key

    def inside(self, key: str) -> Context:
        """The context of what happens in a conversation."""
        agent = self.agents.get(key)
        return self.context if agent is None else agent.inside

    def waits(self, key: str) -> bool:
        """Whether the results of tools are still to come before the model is called again."""
        return any(one.key == key for one in self.asked.values())

    # ----------------------------------------------------------------- calls of the model

    def _thread(self, key: str) -> Thread:
        thread = self._threads.get(key)
        if thread is None:
            thread = self._threads[key] = Thread(self._opening)
        return thread

    async def ask(self, key: str, content: Any, model: str = "") -> BaseException | None:
        """The model is about to be called, or was; returns why hooks refuse that, or ``None``."""
        await self.end_answer(key)
        return await self._thread(key).begin(Answer(model or self.model, content), self.inside(key))

    async def answering(self, key: str, message: Mapping[str, Any]) -> BaseException | None:
        """The model has answered; returns why hooks refuse that it was called, or ``None``."""
        thread, refused = self._thread(key), None
        if thread.is_new(message):
            refused = await self.ask(key, None, exact_text(message.get("model")))
        thread.hear(message)
        for block in message.get("content") or ():
            if block.get("type") == "tool_use":
                asked = Asked(key, exact_text(block.get("name")), block.get("input") or {})
                self.asked.setdefault(str(block.get("id")), asked)
        return refused

    async def end_answer(self, key: str, *, shown: bool = True) -> None:
        """The model's answer is complete; not all of an agent's are shown."""
        thread = self._threads.get(key)
        if thread is not None:
            self._sums.add(await thread.end(shown=shown))

    async def sum_up(self, result: Mapping[str, Any]) -> None:
        """Count what a turn used besides what its messages say, with the last of them if there is one."""
        thread = self._thread(MAIN)
        answer = thread.answer
        last = answer if answer is not None and answer.message else None
        rest = self._sums.rest(result, last)
        if last is not None:
            last.rest = rest
        await thread.end()
        if rest and last is None:
            unseen = Answer(self.model, None)
            unseen.rest, unseen.message = rest, {"model": next(iter(rest))}
            await thread.begin(unseen, self.context)
            await thread.end()

    def under_way(self) -> Iterator[Lasting]:
        """The operations that have not ended."""
        for thread in self._threads.values():
            if thread.lasting is not None:
                yield thread.lasting
