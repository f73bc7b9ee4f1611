"""What is not gated in Aegra. What is can only be called with its databases: see ``tests/instrument/aegra``."""

from spanhook.cli.conformance.subject import Subject, Ungated

SUBJECTS: tuple[Subject, ...] = ()

UNGATED = (
    Ungated("a run whose worker died more often than Aegra tries again: its hooks are not told of its end"),
    Ungated("what a hook on runs would put in place of a run's input or output"),
)
