"""Everything that is gated, in process and over HTTP, and every way of calling it, of all libraries that are here."""

from importlib import import_module
from typing import Any

import pytest

from spanhook.cli.conformance.libraries import own_code
from spanhook.cli.conformance.subject import Subject
from tests.here import BOUND, is_here

_IN_PROCESS = ("langchain_core", "langgraph")
_OVER_THEM = ("langchain_openai", "langchain_anthropic")
"""Packages of LangChain, which have ways of their own and no instrumentor."""


def _of(library: str, name: str = "SUBJECTS") -> tuple[Subject, ...]:
    return (*getattr(import_module(f"spanhook.cli.conformance.libraries.{library}"), name),)


def _all_of(*libraries: str) -> tuple[Subject, ...]:
    return tuple(subject for library in libraries for subject in _of(library))


TOLD = _of("mcp", "MORE") if "mcp" in BOUND else ()
"""Subjects whose refusal is told to whoever asked, in another process."""
HERE = _all_of(*(library for library in BOUND if library in _IN_PROCESS))
_LANGCHAIN_OVER_HTTP = _all_of(*(one for one in _OVER_THEM if is_here(one)))
OF_LANGCHAIN = (*HERE, *_LANGCHAIN_OVER_HTTP)
"""Subjects of LangChain and LangGraph."""
OVER_HTTP = (*_all_of(*(library for library in BOUND if library not in _IN_PROCESS)), *_LANGCHAIN_OVER_HTTP)
ONCE = frozenset(one.name for one in _all_of(*({*BOUND} & {"openai_agents", "pydantic_ai"})))
"""Names of subjects that serve one call at a time: their conversation, or their client's event loop, ends with it."""
SUBJECTS: tuple[Subject, ...] = (*HERE, *OVER_HTTP, *own_code.SUBJECTS)

CASES = [(subject, way) for subject in SUBJECTS for way in subject.ways]
BOUND_CASES = [(subject, way) for subject in SUBJECTS for way in subject.bind]


def one_way_each(cases: list[tuple[Subject, str]]) -> list[Any]:
    """The cases, of which default tests take a way of each subject in this process, and slow tests the rest."""
    slow = {subject.name for subject in OVER_HTTP}
    first = dict(reversed([(subject.name, way) for subject, way in cases if subject.name not in slow]))
    return [
        pytest.param((subject, way), marks=[] if first.get(subject.name) == way else [pytest.mark.slow])
        for subject, way in cases
    ]


def named(case: tuple[Subject, str]) -> str:
    """The name of a case in test ids."""
    return f"{case[0].name}-{case[1]}".replace(" ", "_")
