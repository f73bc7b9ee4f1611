"""Everything that is gated, in process and over HTTP, and every way of calling it."""

from tests.conformance import over_http, subjects
from tests.conformance.subjects import Subject

SUBJECTS: tuple[Subject, ...] = (*subjects.SUBJECTS, *over_http.SUBJECTS)

CASES = [(subject, way) for subject in SUBJECTS for way in subject.ways]
BOUND_CASES = [(subject, way) for subject in SUBJECTS for way in subject.bind]


def named(case: tuple[Subject, str]) -> str:
    """The name of a case in test ids."""
    return f"{case[0].name}-{case[1]}".replace(" ", "_")
