"""Events of a run: what an agent says last is the result, and an open question leaves the run interrupted."""

from typing import Any

from google.adk.events.event import Event

from spanhook.instrument.google_adk.contents import output_of, said
from spanhook.model import Args, Attributes, EndDetails, Kwargs, Message, Usage, current_record


class Events:
    """Follows the events of one run."""

    def __init__(self, _instance: Any, _args: Args, _kwargs: Kwargs) -> None:
        self.keep = self.complete = False
        self._result: Any = None
        self._open: set[str] = set()
        self._op = current_record()  # what is current when its events have been read depends on who reads them

    def add(self, chunk: Any) -> bool:
        self._open |= set(getattr(chunk, "long_running_tool_ids", None) or ())
        for one in chunk.get_function_responses() if isinstance(chunk, Event) else ():
            self._open.discard(one.id or "")
        self.complete = isinstance(chunk, Event) and not chunk.partial and chunk.is_final_response()
        if self.complete and (chunk.content is not None or getattr(chunk, "output", None) is not None):
            self._result = chunk
        return True

    def response(self) -> tuple[Attributes, Usage | None]:
        """Nothing is reported here, but whether the run waits for somebody is seen in its events."""
        op = self._op
        if op is not None:
            op.result = self._result
            op.part(EndDetails).left = "interrupted" if self._open else op.ending.left
        return {}, None

    def result(self) -> Any:
        return self._result


def event_output(result: Any) -> list[Message]:
    """What was said last."""
    content = getattr(result, "content", None)
    output = getattr(result, "output", None)
    if content is not None or output is None:
        return output_of(content)
    return [{"role": "assistant", "parts": [{"type": "text", "content": str(output)}]}]


def event_of(author: str, invocation_id: str, branch: Any, value: Any) -> Event:
    """The event of an agent that gives this answer."""
    if isinstance(value, Event):
        return value
    return Event(author=author, invocation_id=invocation_id, branch=branch, content=said(value))
