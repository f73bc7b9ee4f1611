"""OpenTelemetry's current context, without the API's function calls around a context variable.

The API finds its implementation by entry point, and each access goes through two function calls. The implementation is
nearly always the API's own; then the variable's own methods get and set the context directly.
"""

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, cast

from opentelemetry import context as otel_context
from opentelemetry.context import Context
from opentelemetry.context.contextvars_context import ContextVarsRuntimeContext


def _methods() -> tuple[Callable[[], Context], Callable[[Context], Any]]:
    runtime = getattr(otel_context, "_RUNTIME_CONTEXT", None)
    found: Any = getattr(runtime, "_current_context", None)
    if type(runtime) is ContextVarsRuntimeContext and isinstance(found, ContextVar):
        variable = cast("ContextVar[Context]", found)
        return variable.get, variable.set
    return otel_context.get_current, otel_context.attach


get_context, set_context = _methods()
"""Get the current context, and set another one; nothing has to be detached."""
