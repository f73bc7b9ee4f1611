"""LangChain's models and embeddings over AWS's SDK: each call is one operation, refused before any request."""

from importlib.util import find_spec
from typing import Any

import pytest

from spanhook.cli.conformance.checks import checks_of
from spanhook.cli.conformance.checks.cells import FAILED, ways_of
from tests.instrument.botocore.parts import LEAKS

WAYS = ("invoke", "ainvoke", "stream", "astream", "after tools", "after tools, streamed", "documents", "aquery")
COLUMNS = ("denied", "rewritten", "once", "usage")
pytestmark = LEAKS


def _cases() -> list[Any]:
    if find_spec("langchain_aws") is None:
        return []
    from spanhook.cli.conformance.libraries import langchain_aws

    return [way for subject in langchain_aws.SUBJECTS for way in ways_of(subject) if way.name in WAYS]


CASES = _cases()


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("way", CASES, ids=lambda way: f"{way.subject.name} {way.name}")
def test_each_call_is_one_operation(way: Any, column: str) -> None:
    check = checks_of(way).get(column)
    if check is not None:
        assert check().state != FAILED
