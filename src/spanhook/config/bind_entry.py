"""The part of a configuration file that names functions of the application."""

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

_PATH = re.compile(r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$")


def _checked_path(given: str) -> str:
    if not _PATH.fullmatch(given):
        raise ValueError("expected package.module:function or package.module:Class.method")
    return given


FunctionPath = Annotated[str, AfterValidator(_checked_path), Field(json_schema_extra={"pattern": _PATH.pattern})]


class BoundEntry(BaseModel):
    """A function of the application."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    function: FunctionPath = Field(
        description="package.module:function or package.module:Class.method: the module that the application imports."
    )
    name: Annotated[str, StringConstraints(min_length=1)] | None = Field(
        default=None, description="The name of the tool or agent; default: the function's own."
    )


def _entry(given: Any) -> Any:
    return {"function": given} if isinstance(given, str) else given


_Entries = list[Annotated[BoundEntry, BeforeValidator(_entry, json_schema_input_type=FunctionPath | BoundEntry)]]


class BindEntry(BaseModel):
    """Functions of the application that are operations without a decorator."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    tools: _Entries = Field(
        default_factory=list[BoundEntry],
        description="Each call is a tool.execute.",
        examples=[["my.agent:Shell.execute"]],
    )
    agents: _Entries = Field(default_factory=list[BoundEntry], description="Each call is an agent.invoke, and a run.")
