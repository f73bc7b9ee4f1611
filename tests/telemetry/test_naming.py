"""Which names and types are written with either set of the conventions."""

import pytest

from spanhook import semconv
from spanhook.telemetry.naming import Naming, chosen

BOTH = Naming("v1.41", "newest")


@pytest.mark.parametrize(
    ("value", "older", "newest"),
    [
        ("", True, False),
        ("http,database/dup", True, False),
        ("gen_ai_latest_experimental", False, True),
        ("http, gen_ai_latest_experimental ", False, True),
        ("gen_ai_latest_experimental/dup", True, True),
        ("gen_ai_latest_experimental,gen_ai_latest_experimental/dup", True, True),
    ],
)
def test_what_is_asked_for(value: str, older: bool, newest: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(semconv.OPT_IN, value)
    naming = chosen()
    assert (naming.older, naming.newest) == (older, newest)
    assert naming.schema_url == (None if newest else semconv.SCHEMA_URL)


def test_top_k_is_a_double_in_one_set_and_an_int_in_the_other() -> None:
    given = {semconv.GEN_AI_REQUEST_TOP_K: 40}
    assert type(Naming("newest").told("llm.call", dict(given))[semconv.GEN_AI_REQUEST_TOP_K]) is int
    for naming in (Naming("v1.41"), BOTH):
        assert type(naming.told("llm.call", dict(given))[semconv.GEN_AI_REQUEST_TOP_K]) is float


def test_what_the_newest_has_removed_from_agents() -> None:
    agent = {
        semconv.GEN_AI_AGENT_NAME: "helper",
        semconv.GEN_AI_AGENT_ID: "1",
        semconv.GEN_AI_PROVIDER_NAME: "langgraph",
    }
    assert Naming("newest").told("agent.invoke", agent) == {semconv.GEN_AI_AGENT_NAME: "helper"}
    assert Naming("newest").told("llm.call", agent) == agent
    assert BOTH.told("agent.invoke", agent) == agent
