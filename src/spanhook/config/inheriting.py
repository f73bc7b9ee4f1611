"""What a process tells those that it starts of its configuration file, so that they notice one that was cut short.

A process that starts has nothing active that it could keep; all that it knows of the whole file is this.
"""

import os

from spanhook.config.completeness import END_MARK, IncompleteFileError, has_end_mark
from spanhook.config.reading import Document
from spanhook.diagnostics import log

VARIABLE = "SPANHOOK_ACTIVE"
"""The variable between spanhook's own processes with the digest, whether there is an end mark, and the path."""


def bequeath(document: Document) -> None:
    """Tell processes that are started from now on which content is active here."""
    os.environ[VARIABLE] = f"{document.digest} {int(has_end_mark(document))} {document.path}"


def check_inherited(document: Document) -> None:
    """Compare the file that this process starts with to what is active in the process that has started it.

    Raises:
        IncompleteFileError: It lacks the end mark, which is there in that process.
    """
    digest, _, rest = os.environ.get(VARIABLE, "").partition(" ")
    marked, _, path = rest.partition(" ")
    is_whole = document.is_json or (document.is_yaml and has_end_mark(document))
    if path != document.path or digest == document.digest or is_whole:
        return
    mark = f"if it is whole, {f'end it with the line {END_MARK}' if document.is_yaml else 'nothing has to be done'}"
    if marked == "1" and document.is_yaml:
        raise IncompleteFileError(
            f"{document.shown} may have been cut short: it does not end with {END_MARK}, as the one that is active in "
            f"the parent process does; {mark}"
        )
    log.warning(
        "spanhook: %s is not the one that is active in the parent process, and may have been cut short; %s",
        document.shown,
        mark,
    )
