"""Names that users give libraries, and what they are told about those that nothing has."""

import pytest

from spanhook import ConfigurationError
from spanhook.instrument import INSTRUMENTORS, hint, meant, names


@pytest.mark.parametrize(
    ("given", "library"),
    [
        ("Groq", "groq"),
        ("google.genai", "google_genai"),
        ("Google-GenAI", "google_genai"),
        ("pydantic_ai_slim", "pydantic_ai"),
        ("openai-agents", "openai_agents"),
        (" bedrock ", "botocore"),
        ("boto3", "botocore"),
    ],
)
def test_names_are_compared_as_package_indexes_do(given: str, library: str) -> None:
    assert meant(given) == library
    assert names([given]) == [library]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("mistral", "; did you mean 'mistralai'?"),
        ("agents", "; did you mean 'openai_agents'?"),
        ("botocor", "; did you mean 'botocore'?"),
        ("ollama", "; 'ollama' is known, but spanhook does not bind it"),
        ("fireworks_ai", "; 'fireworks_ai' is known, but spanhook does not bind it"),
        ("zzz", ""),
    ],
)
def test_what_helps_with_another_name(given: str, told: str) -> None:
    assert hint(given) == told
    with pytest.raises(ConfigurationError) as caught:
        names([given])
    bound = ", ".join(sorted(INSTRUMENTORS))
    assert str(caught.value) == f"unknown library {given!r}; spanhook binds {bound}{told}"
