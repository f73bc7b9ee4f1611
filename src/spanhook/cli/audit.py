"""``spanhook audit``: verifies the files of audit logs."""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from spanhook.errors import ConfigurationError
from spanhook.store import FileReport, verify


def run_verify(files: Sequence[str], key_env: str, heads: Sequence[str], partial: bool, as_json: bool) -> int:
    """Verify files and print what was found.

    Args:
        files: The files.
        key_env: The environment variable with the key; empty if there is none.
        heads: Hashes that the files must have.
        partial: Accept that the first files of a chain are missing.
        as_json: Print one JSON document alone.

    Returns:
        The exit code: 0 if all files are whole, 1 if not.

    Raises:
        ConfigurationError: The key is not set, or a file cannot be read.
    """
    key = os.environ.get(key_env, "").encode() if key_env else None
    if key_env and not key:
        raise ConfigurationError(f"--key-env {key_env}: the variable is not set")
    try:
        reports = verify([Path(one) for one in files], key, heads, partial=partial)
    except OSError as error:
        raise ConfigurationError(f"cannot read {error.filename}: {error.strerror}") from None
    whole = not any(one.problem for one in reports)
    if as_json:
        print(json.dumps({"whole": whole, "files": [asdict(one) for one in reports]}, indent=2))  # noqa: T201
        return 0 if whole else 1
    for one in reports:
        _print(one)
    if not heads:
        print("No head given: if whole records at the end were cut off, it cannot be told. Use --head.")  # noqa: T201
    return 0 if whole else 1


def _print(report: FileReport) -> None:
    at = f" line {report.line}:" if report.line else ""
    said = f"BAD {at} {report.problem}".replace("  ", " ") if report.problem else "whole"
    span = f"records {report.first} to {report.last}" if report.last >= 0 else "no good record"
    print(f"{report.file}\n  {said}\n  chain {report.chain or 'unknown'}, {span}\n  last hash {report.head or 'none'}")  # noqa: T201
    for note in report.notes:
        print(f"  note: {note}")  # noqa: T201
