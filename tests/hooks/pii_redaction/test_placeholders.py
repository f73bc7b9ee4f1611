"""Placeholders of one run."""

import os

from spanhook.hooks.pii_redaction._placeholders import Placeholders


def test_a_forked_child_does_not_wait_for_its_parents_threads() -> None:
    placeholders = Placeholders()
    placeholders.substitute("EMAIL", "a@b.co")
    with placeholders._lock:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                code = 0 if placeholders.substitute("EMAIL", "c@d.co") == "<EMAIL_2>" else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
