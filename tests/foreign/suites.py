"""The instrumentations of others: those of each project, by the library that each is for."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import logfire
from openinference.instrumentation.pydantic_ai import OpenInferenceSpanProcessor
from opentelemetry.sdk.trace import TracerProvider
from pydantic_ai import Agent
from pydantic_ai.models.instrumented import InstrumentationSettings

Made = Callable[[TracerProvider], AbstractContextManager[None]]
"""Instruments with a provider while it is entered."""


@contextmanager
def _entry(entry: EntryPoint, provider: TracerProvider) -> Any:
    made = entry.load()()
    made.instrument(tracer_provider=provider)
    try:
        yield
    finally:
        made.uninstrument()


@contextmanager
def _pydantic(provider: TracerProvider, *, renamed: bool = False) -> Any:
    """Pydantic AI's own spans; ``renamed`` by OpenInference's processor."""
    if renamed:
        provider.add_span_processor(OpenInferenceSpanProcessor())
    Agent.instrument_all(InstrumentationSettings(tracer_provider=provider))
    try:
        yield
    finally:
        Agent.instrument_all(False)


@contextmanager
def _logfire(name: str, provider: TracerProvider) -> Any:
    one = logfire.configure(local=True, send_to_logfire=False, console=False, inspect_arguments=False)
    one.config.get_tracer_provider().set_provider(provider)
    undo = getattr(one, f"instrument_{name}")()
    try:
        if undo is None:
            yield
        else:
            with undo:
                yield
    finally:
        if name == "pydantic_ai":
            Agent.instrument_all(False)


def _entries(prefix: str, *distributions: str) -> dict[str, Made]:
    """By the names of libraries, those of ``prefix`` whose distributions are given by the libraries."""
    wanted = {f"{prefix}{one.replace('_', '-')}": one for one in distributions}
    found = {one.dist.name: one for one in entry_points(group="opentelemetry_instrumentor") if one.dist is not None}
    return {name: partial(_entry, found[full]) for full, name in wanted.items()}


_LIBRARIES = ("langchain", "openai", "anthropic", "openai_agents")

SUITES: Mapping[str, Mapping[str, Made]] = {
    "OpenInference": {
        **_entries("openinference-instrumentation-", *_LIBRARIES, "google_genai", "mcp"),
        "pydantic_ai": partial(_pydantic, renamed=True),
    },
    # Its package for MCP does not load with mcp 2: it wraps what that no longer has.
    "OpenLLMetry": _entries("opentelemetry-instrumentation-", *_LIBRARIES),
    "OpenTelemetry": _entries(
        "opentelemetry-instrumentation-genai-", "langchain", "openai", "anthropic", "openai_agents"
    ),
    "Logfire": {
        name: partial(_logfire, name)
        for name in (
            "openai",
            "anthropic",
            "openai_agents",
            "pydantic_ai",
        )  # its instrument_mcp does nothing with mcp 2
    },
    "Pydantic AI": {"pydantic_ai": _pydantic},
}

LEAVING = ("OpenLLMetry",)
"""Those that leave some of their layers when they are ended."""


@contextmanager
def entered(made: list[Made], provider: TracerProvider) -> Any:
    """Instrument with all of them."""
    with ExitStack() as stack:
        for one in made:
            stack.enter_context(one(provider))
        yield
