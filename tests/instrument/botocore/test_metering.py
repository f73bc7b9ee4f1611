"""What Bedrock has counted, and what of it is believed."""

from typing import Any

import pytest

from spanhook.instrument.botocore.metering import METRICS, Metered, metered
from spanhook.instrument.wire import NoChunks
from spanhook.model import Usage


def test_what_a_model_reports_comes_first() -> None:
    own = Usage(5, 2)
    assert metered(({}, own), {"inputTokenCount": 50, "outputTokenCount": 20})[1] is own


def test_estimates_are_replaced() -> None:
    guess = Usage(5, 2)
    guess.source = "estimate"
    told = {"inputTokenCount": 50, "outputTokenCount": 20, "cacheReadInputTokenCount": 100}
    _, used = metered(({}, guess), told)
    assert used is not None
    assert (used.input_tokens, used.output_tokens, used.cache_read_tokens, used.estimated) == (150, 20, 100, False)


@pytest.mark.parametrize(
    ("headers", "total"),
    [
        ({"x-amzn-bedrock-input-token-count": "7", "x-amzn-bedrock-output-token-count": "3"}, 10),
        ({"x-amzn-bedrock-input-token-count": "7"}, 7),
        ({"x-amzn-requestid": "1"}, None),
        ({}, None),
    ],
)
def test_headers(headers: dict[str, str], total: int | None) -> None:
    _, used = metered(({}, None), headers)
    assert (None if used is None else used.total_tokens) == total


def test_a_stream_without_metrics_is_estimated() -> None:
    chunks: Any = Metered(NoChunks({"prompt": "four"}, dict))
    chunks.keep = True
    chunks.add({"said": "x"})
    assert chunks.response()[1].estimated
    chunks.add({METRICS: {"inputTokenCount": 3, "outputTokenCount": 1}})
    assert (chunks.response()[1].total_tokens, chunks.keep, chunks.complete, chunks.result()) == (4, True, False, None)
