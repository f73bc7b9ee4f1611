"""OpenTelemetry's current context, without the frames that its API puts around one context variable.

The API finds its implementation by entry point and calls it through two functions each way. It is practically always
the one that comes with the API, and then getting and setting are the variable's own methods.
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
"""What is current, and making another current; nothing has to be detached."""
