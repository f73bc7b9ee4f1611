"""``spanhook doctor``: what is installed, bound, hooked and exported here, and what is wrong or unusual."""

import json
import os
import sys
from contextlib import redirect_stdout
from typing import Any

from spanhook.cli.doctor.examination import examination
from spanhook.cli.doctor.printing import print_report

__all__ = ["run_doctor"]


def run_doctor(as_json: bool, **given: Any) -> int:
    """Examine and print.

    Args:
        as_json: Print only one JSON document.
        given: Options as for ``spanhook run``; empty ones are taken from the environment.

    Returns:
        The exit code with which ``spanhook run`` would end: 0 if it would start, 2 or 3 if not.
    """
    with redirect_stdout(sys.stderr):  # what hooks print while being loaded is not part of the report
        report = examination(os.environ, **given)
    if as_json:
        print(json.dumps(report.as_json(), indent=2))  # noqa: T201
    else:
        print_report(report)
    return report.exit_code
