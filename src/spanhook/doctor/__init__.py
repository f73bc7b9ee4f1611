"""``spanhook doctor``: what is installed, bound, hooked and exported here, and what is wrong or odd."""

import json
import os
import sys
from collections.abc import Iterable
from contextlib import redirect_stdout

from spanhook.doctor.examination import examination
from spanhook.doctor.printing import print_report


def run_doctor(hooks: Iterable[str], require: Iterable[str], as_json: bool) -> int:
    """Examine and print.

    Args:
        hooks, require: As given to ``spanhook run``; the environment's where empty.
        as_json: Print one JSON document alone.

    Returns:
        The exit code ``spanhook run`` would end with: 0 if it would start, 2 or 3 if not.
    """
    with redirect_stdout(sys.stderr):  # what hooks print while they are loaded is no part of the report
        report = examination(hooks, require, os.environ)
    if as_json:
        print(json.dumps(report.as_json(), indent=2))  # noqa: T201
    else:
        print_report(report)
    return report.exit_code
