"""An alert that fires reaches the webhook."""

from pathlib import Path

import pytest

from tests.e2e.loads import load
from tests.e2e.programs import until
from tests.e2e.stack import stack
from tests.e2e.webhooks import webhook

pytestmark = pytest.mark.e2e


def test_a_gate_that_fails_open_is_told_to_the_webhook(tmp_path: Path) -> None:
    with webhook() as (url, told), stack(tmp_path, webhook=url, patience="1s") as one:
        document = load(one.environ(), runs=60)
        wanted = {
            row["attributes"]["spanhook.hook"]
            for row in document["metrics"]["spanhook.hook.decisions"]
            if row["attributes"]["spanhook.mode"] == "enforce"
            and row["attributes"]["spanhook.decision"] in ("error", "timeout")
            and row["attributes"]["spanhook.fail_mode"] == "open"
            and row["attributes"]["spanhook.event"].endswith(".pre")
        }
        assert wanted

        def hooks() -> set[str]:
            labels = [one["labels"] for one in told]
            return {of["spanhook_hook"] for of in labels if of["alertname"] == "SpanhookGateFailedOpen"}

        until(lambda: hooks() == wanted, f"alert about {wanted}", 90)
        annotations = next(one["annotations"] for one in told if one["labels"]["alertname"] == "SpanhookGateFailedOpen")
        assert annotations["runbook"] == "docs/runbook.md#gate-failed-open"
