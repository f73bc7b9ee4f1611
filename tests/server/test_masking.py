from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanhook.errors import ConfigurationError
from spanhook.server.masking import MASK, masked, unmasked


@pytest.mark.parametrize(
    ("config", "shown"),
    [
        ({"api_key": "x"}, {"api_key": MASK}),
        ({"apiKey": "x", "PASSWORD": "y", "auth_token": "z"}, {"apiKey": MASK, "PASSWORD": MASK, "auth_token": MASK}),
        ({"headers": {"x-any": "x"}}, {"headers": {"x-any": MASK}}),
        ({"url": "https://ada:pw@a.example/x"}, {"url": f"https://{MASK}@a.example/x"}),
        ({"url": "redis://ada:p@w@a.example/0"}, {"url": f"redis://{MASK}@a.example/0"}),
        ({"url": "https://a.example/@x?token=t&b=1"}, {"url": f"https://a.example/@x?token={MASK}&b=1"}),
        ({"url": "https://a.example/?a=1&api-key=k#c"}, {"url": f"https://a.example/?a=1&api-key={MASK}#c"}),
        ({"list": [{"secret": ["a", {"b": "c"}]}]}, {"list": [{"secret": [MASK, {"b": MASK}]}]}),
        ({"tokens": 1000, "secret": ""}, {"tokens": 1000, "secret": ""}),
        ({"key_env": "NAME", "token_env": "NAME"}, {"key_env": "NAME", "token_env": "NAME"}),
        ({"rules": [{"deny": ["refund"]}]}, {"rules": [{"deny": ["refund"]}]}),
    ],
)
def test_secrets_are_masked_by_their_names(config: Any, shown: Any) -> None:
    assert masked(config) == shown
    assert unmasked(shown, config) == config


def test_a_mask_stands_for_nothing_elsewhere() -> None:
    before = {"api_key": "x", "list": [{"token": "a"}]}
    for config in (
        {"name": MASK},
        {"other_key": MASK},
        {"list": [{"token": "b"}, {"token": MASK}]},
        {"api_key": [MASK]},
    ):
        with pytest.raises(ConfigurationError, match="give the secret itself"):
            unmasked(config, before)


@pytest.mark.parametrize(
    "config",
    [
        {"url": "https://evil.example", "headers": {"x-key": MASK}},
        {"url": "https://opa.example", "headers": {"x-key": MASK}, "proxy": "http://evil.example"},
        {"url": "https://opa.example.evil.example", "headers": {"x-key": MASK}},
    ],
)
def test_a_mask_is_not_sent_elsewhere(config: Any) -> None:
    before = {"url": "https://opa.example", "headers": {"x-key": "a secret"}}
    with pytest.raises(ConfigurationError, match="another address"):
        unmasked(config, before)
    assert unmasked({**config, "headers": {"x-key": "new"}}, before)["headers"] == {"x-key": "new"}


KEYS = st.sampled_from(["name", "api_key", "headers", "url", "x", "password_env"])
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just("http://a:b@c.example"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=10,
)


@given(PLAIN)
def test_what_is_shown_and_sent_back_is_what_it_was(config: Any) -> None:
    assert unmasked(masked(config), config) == config
