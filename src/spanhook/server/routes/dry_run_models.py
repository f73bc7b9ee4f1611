"""What dry runs take and give, as JSON."""

from typing import Any, Self

from pydantic import BaseModel, Field, model_validator

from spanhook.server.routes.hook_models import Given, HookResult, Shallow


class HookTest(Given):
    """A dry run: on a sample context, or on a recorded operation."""

    sample_context: Shallow | None = Field(
        default=None,
        description="Any of name, names (of a tool that has several), arguments, inputs, messages, system, model, "
        "provider, tenant_id, user_id, session_id, metadata, result and error. With run and span, it overrides what "
        "was recorded.",
    )
    run: str = Field(default="", max_length=200, description="The id of a run, with the scope runs:read.")
    span: str = Field(default="", max_length=200, description="The id of a span in it.")

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if bool(self.run) != bool(self.span) or (self.sample_context is None and not self.run):
            raise ValueError("give sample_context, or run and span")
        return self


class HookTested(BaseModel):
    """What a dry run has come to."""

    result: HookResult | None = Field(description="The last result; null if the hook did not run, by its filters.")
    results: list[HookResult] = Field(description="One for each phase that it ran in.")
    context_after: dict[str, Any]
    sample_context: dict[str, Any] = Field(default={}, description="What it ran on.")
    not_captured: list[str] = Field(
        default=[], description="Of a recorded operation, what sample_context lacks because it was not captured."
    )
