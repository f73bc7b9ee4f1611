"""Handlers that definitions in these tests name; nothing else imports this module."""

from typing import Any

from pydantic import BaseModel, Field

from spanhook import Hook, Operation, Reject
from spanhook.definitions import CallNext, ToolHookContext, handler

RAN: list[str] = []


@handler
class Suffix:
    """Adds text to an argument."""

    class Config(BaseModel):
        text: str = Field(default="!", max_length=10)
        times: int = 1

    def __init__(self, text: str, times: int) -> None:
        self.text, self.times = text, times

    async def execute(self, context: ToolHookContext, call_next: CallNext) -> Any:
        RAN.append(self.text)
        context.arguments["query"] += self.text * self.times
        return await call_next(context)


@handler
class Early:
    """Middleware that says where it runs."""

    priority = 7

    def execute(self, context: Any, call_next: CallNext) -> Any:
        return call_next(context)


@handler
class Never(Hook):
    """Refuses."""

    kinds = ("tool.execute",)

    def before(self, op: Operation) -> None:
        raise Reject(f"{op.name} is never run")


@handler
class Fails:
    """Fails before it goes on."""

    def execute(self, context: Any, call_next: CallNext) -> Any:
        raise KeyError("secret")


@handler
class Idle:
    """Neither middleware nor a hook."""


class Unmarked:
    def execute(self, context: Any, call_next: CallNext) -> Any:
        return call_next(context)


RENAMED = Suffix
Borrowed = Hook
