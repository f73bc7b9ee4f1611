"""The settings of an approval."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from spanhook.gating import NEUTRAL, Looser


class Asking(BaseModel):
    """How a person is asked."""

    model_config = ConfigDict(extra="forbid")

    timeout: Annotated[float, NEUTRAL] = Field(
        default=3600, gt=0, le=30 * 86400, description="Seconds for which a request can be answered."
    )
    on_timeout: Annotated[Literal["deny", "allow"], Looser(("deny", "allow"))] = Field(
        default="deny", description="What becomes of a call that waits until its request has expired."
    )
    wait: Annotated[float, NEUTRAL] = Field(
        default=5,
        ge=0,
        le=86400,
        description="Seconds to wait in place for the answer, if the run cannot be paused.",
    )
    poll: Annotated[float, NEUTRAL] = Field(
        default=0.5, ge=0.01, le=60, description="Seconds between two looks at the answer."
    )
    valid_for: float | None = Field(
        default=None, gt=0, le=30 * 86400, description="Seconds for which an answer holds; by default timeout."
    )
    approvers: Annotated[list[str], Looser("more", empty=True)] = Field(
        default=[], description="Who may answer, by user id with wildcards; empty for all."
    )
    self_approval: Annotated[bool, Looser((False, True))] = Field(
        default=False, description="Whether whoever asks may answer."
    )
    title: str = Field(default="", max_length=1000, description="What to tell whoever decides.")
    show_arguments: Annotated[bool, NEUTRAL] = Field(
        default=True, description="Keep the arguments with the request, so that they are seen."
    )
    pause: Annotated[bool, NEUTRAL] = Field(
        default=True, description="Pause graphs of LangGraph that have a checkpointer."
    )


class Config(Asking):
    """Settings of ``approval``."""

    store: str = Field(
        default="memory://",
        description="Where requests are kept: memory://, sqlite:///FILE or redis://HOST, or the name of a store.",
        json_schema_extra={"spanhook_store": "default"},
    )
