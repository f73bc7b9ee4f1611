"""Schemathesis sends what the OpenAPI document allows, and what it does not."""

import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.server.serving import SECRET, TOKENS, Served, served, token

EVERYTHING = (
    *("hooks:admin", "hooks:sync", "approvals:decide", "usage:read", "runs:read", "telemetry:write"),
    "webhooks:manage",
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPANHOOK_TEST_SECRET", SECRET)
        limits: dict[str, Any] = {"rate": "1000000/minute", "failures": "1000000/minute"}
        limits["webhooks"] = {"key_env": "SPANHOOK_TEST_SECRET"}
        with served(tmp_path_factory.mktemp("fuzzing"), tokens=TOKENS, **limits) as one:
            yield one


def credentials(server: Served, who: str) -> str:
    """What somebody sends as ``Authorization``."""
    if who == "a tenant's key":
        return server.key("acme", *EVERYTHING)["Authorization"]
    if who == "a key for reading":
        return server.key("acme", "hooks:read", "runs:read", "usage:read")["Authorization"]
    if who == "an expired token":
        return f"Bearer {token('acme', EVERYTHING, exp=1)}"
    return f"Bearer {token('the operators', EVERYTHING)}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("who", "examples"),
    [("an operator's token", 20), ("a tenant's key", 5), ("a key for reading", 1), ("an expired token", 1)],
)
def test_whatever_is_sent_the_answer_is_one_of_the_document(
    server: Served, tmp_path: Path, who: str, examples: int
) -> None:
    checks = ["not_a_server_error", "status_code_conformance", "content_type_conformance"]
    checks += ["response_schema_conformance"]
    if examples > 1:  # whoever may do little is refused before what they send is looked at
        checks += ["ignored_auth", "negative_data_rejection"]
    done = subprocess.run(
        [
            *(sys.executable, "-m", "schemathesis.cli", "run", f"{server.url}/openapi.json"),
            *("--header", f"Authorization: {credentials(server, who)}", "--checks", ",".join(checks)),
            *("--max-examples", str(examples), "--seed", "1", "--no-color", "--suppress-health-check", "all"),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
