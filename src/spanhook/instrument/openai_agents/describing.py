"""What a model object reports about itself and a call: provider, server, model, parameters."""

from typing import Any

from spanhook import semconv
from spanhook.instrument.openai.transport import server_of
from spanhook.instrument.openai_agents.signatures import MODEL
from spanhook.instrument.parameters import PARAMETERS, note_parameter
from spanhook.model import Args, Attributes, Kwargs, exact_text

#: The first part of a model's name, as LiteLLM and any-llm write it, where it differs from the conventions' provider.
PROVIDERS = {
    "azure": "azure.ai.openai",
    "azure_ai": "azure.ai.inference",
    "bedrock": "aws.bedrock",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "vertex_ai": "gcp.vertex_ai",
    "vertexai": "gcp.vertex_ai",
    "watsonx": "ibm.watsonx.ai",
    "xai": "x_ai",
}

_PARAMETERS = tuple((name, *PARAMETERS[name]) for name in PARAMETERS if name not in ("seed", "top_k"))
"""Those that ``ModelSettings`` has."""
_KNOWN = frozenset((*PROVIDERS, *PROVIDERS.values(), "anthropic", "cohere", "deepseek", "groq", "openai", "perplexity"))


def model_of(instance: Any, args: Args, kwargs: Kwargs) -> str:
    """The requested model: the one that the settings put in its place, or the model object's own."""
    extra = getattr(MODEL.given(args, kwargs, "model_settings"), "extra_body", None)
    named = extra.get("model") if isinstance(extra, dict) else None
    if not named:
        named = getattr(instance, "model", None) or getattr(instance, "model_name", None)
    return exact_text(named)


def describe(instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    """Start attributes of a model call."""
    model = model_of(instance, args, kwargs)
    attributes: Attributes = {semconv.GEN_AI_OPERATION_NAME: "chat"}
    client = getattr(instance, "_client", None)
    if client is not None and hasattr(client, "_base_url"):
        provider, host, port = server_of(client, "")
        if host:
            attributes[semconv.SERVER_ADDRESS], attributes[semconv.SERVER_PORT] = host, port
    else:
        provider = _provider(instance, model)
    attributes[semconv.GEN_AI_PROVIDER_NAME] = provider
    if model:
        attributes[semconv.GEN_AI_REQUEST_MODEL] = model
    settings = MODEL.given(args, kwargs, "model_settings")
    if settings is not None:
        _note_settings(attributes, settings)
    schema = MODEL.given(args, kwargs, "output_schema")
    if schema is not None:
        attributes[semconv.GEN_AI_OUTPUT_TYPE] = "text" if schema.is_plain_text() else "json"
    _note_conversation(attributes, args, kwargs)
    return attributes


def _provider(instance: Any, model: str) -> str:
    """The provider of a model without a client of OpenAI's SDK: by the model's name, else the object's own class."""
    named = model.partition("/")[0]
    return PROVIDERS.get(named, named) if named in _KNOWN else type(instance).__name__.lower()


def _note_settings(attributes: Attributes, settings: Any) -> None:
    fields = settings.__dict__
    for name, key, number in _PARAMETERS:
        value = fields.get(name)
        if value is not None:
            note_parameter(attributes, key, number, value)
    effort = getattr(fields.get("reasoning"), "effort", None)
    if isinstance(effort, str):
        attributes[semconv.GEN_AI_REQUEST_REASONING_LEVEL] = effort


def _note_conversation(attributes: Attributes, args: Args, kwargs: Kwargs) -> None:
    conversation, previous = (
        MODEL.given(args, kwargs, "conversation_id"),
        MODEL.given(args, kwargs, "previous_response_id"),
    )
    if isinstance(conversation, str):
        attributes[semconv.GEN_AI_CONVERSATION_ID] = conversation
    if isinstance(previous, str):
        attributes[semconv.GEN_AI_REQUEST_PREVIOUS_RESPONSE_ID] = previous
    template = MODEL.given(args, kwargs, "prompt")  # one that OpenAI keeps
    if isinstance(template, dict):
        for name, key in (("id", semconv.GEN_AI_PROMPT_NAME), ("version", semconv.GEN_AI_PROMPT_VERSION)):
            if isinstance(template.get(name), str):
                attributes[key] = template[name]
