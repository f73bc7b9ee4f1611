"""LiteLLM's names of models, in their parts."""

import pytest

from spanhook.instrument.prefixes import provider_named, split


@pytest.mark.every_value
@pytest.mark.parametrize(
    ("model", "parts"),
    [
        ("gpt-4o", ("", "", "gpt-4o")),
        ("", ("", "", "")),
        ("/gpt-4o", ("", "", "/gpt-4o")),
        ("openai/gpt-4o", ("openai", "", "gpt-4o")),
        ("openai/responses/gpt-4o", ("openai", "responses", "gpt-4o")),
        ("openrouter/openai/gpt-4o", ("openrouter", "", "openai/gpt-4o")),
        ("bedrock/invoke", ("bedrock", "", "invoke")),
    ],
)
def test_a_name_in_its_parts(model: str, parts: tuple[str, str, str]) -> None:
    assert split(model) == parts


@pytest.mark.parametrize(
    ("name", "provider"),
    [
        ("openai", "openai"),
        ("azure_text", "azure.ai.openai"),
        ("vertex_ai-language-models", "gcp.vertex_ai"),
        ("unheard-of", "unheard-of"),
        ("", ""),
    ],
)
def test_a_provider_in_the_conventions_terms(name: str, provider: str) -> None:
    assert provider_named(name) == provider
