"""Middleware: objects with ``execute(context, call_next)``; ``app.py`` registers them."""

import logging
import re
from typing import Any

from pydantic import BaseModel

from spanhook.definitions import (
    AgentHookContext,
    CallNext,
    HookContext,
    ToolHookContext,
    WorkflowHookContext,
    handler,
)

log = logging.getLogger(__name__)


def detect_injection(inputs: dict[str, Any]) -> bool:
    return "ignore all previous instructions" in str(inputs).lower()


class InputSanitizationHook:
    name = "input_sanitization"
    event_type = "agent.invoke.pre"
    priority = 10  # run early
    enabled = True

    async def execute(self, context: AgentHookContext, call_next: CallNext) -> HookContext:
        if detect_injection(context.inputs):
            context.abort = True
            context.abort_reason = "Prompt injection detected"
            return context
        return await call_next(context)


class StepAuditHook:
    name = "step_audit"
    event_type = "workflow.step.post"
    priority = 500
    enabled = True

    async def execute(self, context: WorkflowHookContext, call_next: CallNext) -> HookContext:
        log.info("%s of %s took %.1f ms", context.step_id, context.workflow_name, context.duration_ms)
        return await call_next(context)


class MaskNumbers:
    """Replaces long numbers in what a tool returns."""

    def execute(self, context: ToolHookContext, call_next: CallNext) -> Any:
        context.result = re.sub(r"\d{12,}", lambda found: f"...{found.group()[-4:]}", str(context.result))
        return call_next(context)


mask_numbers = MaskNumbers()


@handler
class Greeting:
    """Greets in front of a question; named by a definition, which gives it its words."""

    class Config(BaseModel):
        words: str = "Hello."

    def __init__(self, words: str) -> None:
        self.words = words

    async def execute(self, context: AgentHookContext, call_next: CallNext) -> HookContext:
        context.inputs["question"] = f"{self.words} {context.inputs['question']}"
        return await call_next(context)
