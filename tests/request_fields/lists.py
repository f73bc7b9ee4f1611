"""Which fields of requests hooks see, and which not; docs/guarantees.md has the second list."""

from tests.request_fields.others import BEDROCK, COHERE, GOOGLE, MISTRAL
from tests.request_fields.stainless import ANTHROPIC, GROQ, OPENAI

PROVIDERS = {
    "OpenAI": OPENAI,
    "Anthropic": ANTHROPIC,
    "Groq": GROQ,
    "Cohere": COHERE,
    "Mistral": MISTRAL,
    "Google (Gen AI SDK)": GOOGLE,
    "Amazon Bedrock": BEDROCK,
}


def table() -> str:
    """The list in docs/guarantees.md."""
    lines = ["| | fields of requests that no hook sees |", "|---|---|"]
    for name, provider in PROVIDERS.items():
        fields = (f"{what}: {', '.join(f'`{path}`' for path in paths)}" for what, paths in provider.unseen.items())
        lines.append(f"| {name} | {'; '.join(fields)} |")
    return "\n".join(lines)
