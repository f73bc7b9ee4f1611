"""``spanhook doctor``: what is installed, bound, hooked and exported here, and what is wrong or odd."""

import json
import os
import sys
from contextlib import redirect_stdout
from typing import Any

from spanhook.cli.doctor.examination import examination
from spanhook.cli.doctor.printing import print_report


def run_doctor(as_json: bool, **given: Any) -> int:
    """Examine and print.

    Args:
        as_json: Print one JSON document alone.
        given: Options as given to ``spanhook run``; the environment's where empty.

    Returns:
        The exit code ``spanhook run`` would end with: 0 if it would start, 2 or 3 if not.
    """
    with redirect_stdout(sys.stderr):  # what hooks print while they are loaded is no part of the report
        report = examination(os.environ, **given)
    if as_json:
        print(json.dumps(report.as_json(), indent=2))  # noqa: T201
    else:
        print_report(report)
    return report.exit_code
