"""LiteLLM's names of models, ``provider/model``, for libraries that use it: the providers in the conventions' terms."""

_PROVIDERS = {
    "anthropic_text": "anthropic",
    "azure": "azure.ai.openai",
    "azure_ai": "azure.ai.inference",
    "azure_text": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "bedrock_converse": "aws.bedrock",
    "bedrock_mantle": "aws.bedrock",
    "codestral": "mistral_ai",
    "cohere_chat": "cohere",
    "custom_openai": "openai",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "text-completion-codestral": "mistral_ai",
    "text-completion-openai": "openai",
    "vertex_ai": "gcp.vertex_ai",
    "vertex_ai_beta": "gcp.vertex_ai",
    "watsonx": "ibm.watsonx.ai",
    "watsonx_text": "ibm.watsonx.ai",
    "xai": "x_ai",
}
"""LiteLLM's names of providers, where they differ from the conventions'."""
_ROUTES = frozenset(("converse", "converse_like", "invoke", "responses"))
"""What LiteLLM writes between a provider and its model to choose one of the provider's APIs."""


def provider_named(name: str) -> str:
    """A provider in the conventions' terms.

    Args:
        name: LiteLLM's name of it; also with what it adds for some of a provider's models, as in
            ``vertex_ai-language-models``.
    """
    name = name.partition("-language-models")[0]
    return _PROVIDERS.get(name, name)


def split(model: str) -> tuple[str, str, str]:
    """A model's name in its parts: the provider, as LiteLLM names it; an API of it, if one is chosen; the model.

    Args:
        model: The name. What precedes its first slash is taken for a provider, if it has one.
    """
    provider, slash, rest = model.partition("/")
    if not slash or not provider:
        return "", "", model
    route, slash, last = rest.partition("/")
    return (provider, route, last) if slash and route in _ROUTES else (provider, "", rest)
