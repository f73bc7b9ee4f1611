"""The settings of a loop guard."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from spanhook.gating import NEUTRAL, Looser
from spanhook.hooks._settings import Conflict, SettingsModel

MOST = 1_000_000


class Config(SettingsModel):
    """Settings of ``loop_guard``."""

    repeats: int | None = Field(
        default=3, ge=1, le=1000, description="How often a tool may be called with the same arguments in a run."
    )
    cycles: int | None = Field(
        default=3, ge=2, le=100, description="How often the same calls may be made in a row, such as A, B, A, B, A, B."
    )
    period: Annotated[int, Looser("lower")] = Field(
        default=4, ge=1, le=20, description="The most calls that are recognized as such a pattern."
    )
    same_result: Annotated[bool, Looser((False, True))] = Field(
        default=False, description="Whether calls are the same only if their results were, too; for tools that poll."
    )
    max_tool_calls: int | None = Field(default=None, ge=1, le=MOST, description="The most tool calls of a run.")
    max_llm_calls: int | None = Field(default=None, ge=1, le=MOST, description="The most model calls of a run.")
    max_depth: int | None = Field(
        default=None, ge=1, le=1000, description="How deep agents and graphs may be inside each other."
    )
    strikes: int | None = Field(
        default=3, ge=1, le=1000, description="The refusal with this number ends the run; null: none does."
    )
    reason: str = Field(default="", max_length=1000, description="The reason that the model or the caller gets.")
    status_code: Annotated[int, NEUTRAL] = Field(
        default=429, ge=400, le=599, description="The HTTP status of a refusal."
    )

    def conflicts(self) -> Iterator[Conflict]:
        guards = ("repeats", "cycles", "max_tool_calls", "max_llm_calls", "max_depth")
        if all(getattr(self, name) is None for name in guards):
            message = "it would refuse nothing; set repeats, cycles, max_tool_calls, max_llm_calls or max_depth"
            yield Conflict(message, guards)

    @property
    def kinds(self) -> tuple[Literal["tool.execute", "llm.call", "agent.invoke"], ...]:
        """The kinds of operation that it has to see."""
        found: list[Literal["tool.execute", "llm.call", "agent.invoke"]] = []
        if any(one is not None for one in (self.repeats, self.cycles, self.max_tool_calls)):
            found.append("tool.execute")
        if self.max_llm_calls is not None:
            found.append("llm.call")
        if self.max_depth is not None:
            found.append("agent.invoke")
        return tuple(found)
