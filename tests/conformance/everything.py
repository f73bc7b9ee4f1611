"""Everything that is gated, in process and over HTTP, and every way of calling it."""

from importlib.util import find_spec
from typing import Any

import pytest

from spanhook.cli.conformance.libraries import (
    anthropic,
    groq,
    langchain_core,
    langchain_openai,
    langgraph,
    openai,
    own_code,
)
from spanhook.cli.conformance.subject import Subject


def _over_anthropic() -> tuple[Subject, ...]:
    """Of LangChain's package, which needs a newer LangChain than the oldest that is supported."""
    if find_spec("langchain_anthropic") is None:
        return ()
    from spanhook.cli.conformance.libraries import langchain_anthropic

    return langchain_anthropic.SUBJECTS


def _of_mcp() -> tuple[tuple[Subject, ...], tuple[Subject, ...]]:
    """Of MCP's SDK, which needs a newer pydantic than the oldest that is supported; and of its servers."""
    if find_spec("mcp") is None:
        return (), ()
    from spanhook.cli.conformance.libraries import mcp

    return (*mcp.SUBJECTS,), mcp.MORE


_MCP, TOLD = _of_mcp()
"""``TOLD`` are subjects whose refusal is told to whoever asked, in another process."""


def _over_agents() -> tuple[Subject, ...]:
    """Of OpenAI's Agents SDK, which needs a newer openai and pydantic than the oldest that are supported."""
    if find_spec("agents") is None:
        return ()
    from spanhook.cli.conformance.libraries import openai_agents

    return (*openai_agents.SUBJECTS,)


_AGENTS = _over_agents()
ONCE = frozenset(one.name for one in _AGENTS)
"""Names of subjects that serve one call: their conversation ends with it."""


def _over_google() -> tuple[Subject, ...]:
    """Of Google's SDK, which needs a newer pydantic than the oldest that is supported."""
    if find_spec("google") is None or find_spec("google.genai") is None:
        return ()
    from spanhook.cli.conformance.libraries import google_genai

    return (*google_genai.SUBJECTS,)


HERE: tuple[Subject, ...] = (*langchain_core.SUBJECTS, *langgraph.SUBJECTS)
OVER_HTTP: tuple[Subject, ...] = (
    *openai.SUBJECTS,
    *langchain_openai.SUBJECTS,
    *anthropic.SUBJECTS,
    *_over_anthropic(),
    *groq.SUBJECTS,
    *_MCP,
    *_AGENTS,
    *_over_google(),
)
SUBJECTS: tuple[Subject, ...] = (*HERE, *OVER_HTTP, *own_code.SUBJECTS)

CASES = [(subject, way) for subject in SUBJECTS for way in subject.ways]
BOUND_CASES = [(subject, way) for subject in SUBJECTS for way in subject.bind]


def nearest(cases: list[tuple[Subject, str]]) -> list[Any]:
    """The cases, of which those over HTTP are for the slow tests."""
    slow = {subject.name for subject in OVER_HTTP}
    return [pytest.param(case, marks=[pytest.mark.slow] if case[0].name in slow else []) for case in cases]


def named(case: tuple[Subject, str]) -> str:
    """The name of a case in test ids."""
    return f"{case[0].name}-{case[1]}".replace(" ", "_")
