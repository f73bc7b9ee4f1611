"""Schemathesis sends what the OpenAPI document allows, and what it does not."""

import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.server.serving import SECRET, TOKENS, Served, served, token


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPANHOOK_TEST_SECRET", SECRET)
        limits: dict[str, Any] = {"rate": "1000000/minute", "failures": "1000000/minute"}
        with served(tmp_path_factory.mktemp("fuzzing"), tokens=TOKENS, **limits) as one:
            yield one


@pytest.mark.slow
def test_whatever_is_sent_the_answer_is_one_of_the_document(server: Served, tmp_path: Path) -> None:
    every = ("hooks:admin", "hooks:sync", "approvals:decide", "usage:read", "runs:read", "telemetry:write")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "schemathesis.cli", "run", f"{server.url}/openapi.json"),
            *("--header", f"Authorization: Bearer {token('the operators', every)}"),
            *("--checks", "not_a_server_error,status_code_conformance,content_type_conformance"),
            *("--checks", "response_schema_conformance,ignored_auth,negative_data_rejection"),
            *("--max-examples", "20", "--seed", "1", "--no-color", "--suppress-health-check", "all"),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
