"""Everything that is gated, in process and over HTTP, and every way of calling it."""

from spanhook.conformance import langchain_core, langchain_openai, langgraph, openai
from spanhook.conformance.subject import Subject

HERE: tuple[Subject, ...] = (*langchain_core.SUBJECTS, *langgraph.SUBJECTS)
OVER_HTTP: tuple[Subject, ...] = (*openai.SUBJECTS, *langchain_openai.SUBJECTS)
SUBJECTS: tuple[Subject, ...] = (*HERE, *OVER_HTTP)

CASES = [(subject, way) for subject in SUBJECTS for way in subject.ways]
BOUND_CASES = [(subject, way) for subject in SUBJECTS for way in subject.bind]


def named(case: tuple[Subject, str]) -> str:
    """The name of a case in test ids."""
    return f"{case[0].name}-{case[1]}".replace(" ", "_")
