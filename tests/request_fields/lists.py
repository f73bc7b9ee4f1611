"""Which fields of requests hooks see, and which not; docs/guarantees.md has the second list."""

from collections.abc import Mapping
from typing import NamedTuple

IDS = "ids and names of objects that the provider keeps or runs"
WHOSE = "labels that say whose request it is"
MODELS = "further models, languages and voices"
SHAPES = "schemas of answers, choices of tools, sampling, output settings"
STOPS = "texts at which the model stops"
FILES = "files, pictures and sound, by content or address"
SERVERS = "servers and sources that the provider asks, with their keys"
PLACES = "where the user is"
CONTEXT = "instructions for what the provider leaves out of a long context"
VOCABULARY = "words that are to be recognized in sound"
TITLES = "titles and names beside the text"
OTHERS = "a body in the form of another provider"


class Api(NamedTuple):
    """One API of an SDK.

    Attributes:
        types: The type of its request, or the method that sends it, as ``module:name``.
        seen: The field of ``op.request`` in which each path is, by path.
    """

    types: str
    seen: Mapping[str, str]


class Provider(NamedTuple):
    """What one SDK sends.

    Attributes:
        package: Its distribution.
        apis: Its APIs, by the end of their path.
        unseen: The fields that no hook sees, by what they are, whichever of its APIs has them.
    """

    package: str
    apis: Mapping[str, Api]
    unseen: Mapping[str, tuple[str, ...]]


_CHAT = {"messages": "messages", "tools": "tools", "functions": "tools", "model": "model"}
_RUN = {"instructions": "system", "tools": "tools", "model": "model"}
_PROMPT = {"prompt": "messages", "model": "model"}
_O = "openai.types"

OPENAI = Provider(
    "openai",
    {
        "/chat/completions": Api(
            f"{_O}.chat.completion_create_params:CompletionCreateParams", {**_CHAT, "prediction.content": "arguments"}
        ),
        "/completions": Api(
            f"{_O}.completion_create_params:CompletionCreateParams", {**_PROMPT, "suffix": "arguments"}
        ),
        "/embeddings": Api(
            f"{_O}.embedding_create_params:EmbeddingCreateParams", {"input": "inputs", "model": "model"}
        ),
        "/responses": Api(
            f"{_O}.responses.response_create_params:ResponseCreateParams",
            {"input": "messages", **_RUN, "prompt.variables": "arguments"},
        ),
        "/responses/compact": Api(
            f"{_O}.responses.response_compact_params:ResponseCompactParams",
            {"input": "messages", "instructions": "system", "model": "model"},
        ),
        "/responses/input_tokens": Api(
            f"{_O}.responses.input_token_count_params:InputTokenCountParams", {"input": "messages", **_RUN}
        ),
        "/images/generations": Api(f"{_O}.image_generate_params:ImageGenerateParams", _PROMPT),
        "/images/edits": Api(f"{_O}.image_edit_params:ImageEditParams", _PROMPT),
        "/images/variations": Api(f"{_O}.image_create_variation_params:ImageCreateVariationParams", {"model": "model"}),
        "/audio/speech": Api(
            f"{_O}.audio.speech_create_params:SpeechCreateParams",
            {"input": "messages", "instructions": "system", "model": "model"},
        ),
        "/audio/transcriptions": Api(
            f"{_O}.audio.transcription_create_params:TranscriptionCreateParams",
            {**_PROMPT, "keywords": "arguments", "known_speaker_names": "arguments"},
        ),
        "/audio/translations": Api(f"{_O}.audio.translation_create_params:TranslationCreateParams", _PROMPT),
        "/moderations": Api(
            f"{_O}.moderation_create_params:ModerationCreateParams", {"input": "messages", "model": "model"}
        ),
        "/videos": Api(f"{_O}.video_create_params:VideoCreateParams", _PROMPT),
        "/videos/*/remix": Api(f"{_O}.video_remix_params:VideoRemixParams", {"prompt": "messages"}),
        "/threads/runs": Api(
            f"{_O}.beta.thread_create_and_run_params:ThreadCreateAndRunParams",
            {"instructions": "system", "thread.messages.content": "messages", "model": "model"},
        ),
        "/threads/*/runs": Api(
            f"{_O}.beta.threads.run_create_params:RunCreateParams",
            {
                "instructions": "system",
                "additional_messages.content": "messages",
                "additional_instructions": "arguments",
                "model": "model",
            },
        ),
        "/threads/*/runs/*/submit_tool_outputs": Api(
            f"{_O}.beta.threads.run_submit_tool_outputs_params:RunSubmitToolOutputsParams",
            {"tool_outputs.output": "inputs"},
        ),
    },
    {
        IDS: (
            *("conversation", "previous_response_id", "prompt.id", "prompt.version", "assistant_id", "thread_id"),
            *("prompt_cache_key", "prompt_cache_options.comparison_response_id", "tool_outputs.tool_call_id"),
            *("thread.tool_resources", "tool_resources"),
        ),
        WHOSE: (
            *("metadata", "safety_identifier", "user", "thread.metadata", "thread.messages.metadata"),
            "additional_messages.metadata",
        ),
        MODELS: ("audio", "language", "languages", "moderation.model", "svg.model", "voice"),
        SHAPES: (
            *("context_management.type", "function_call", "logit_bias", "personality", "reasoning.mode"),
            *("response_format", "size", "text.format", "tool_choice"),
            "tools",
        ),
        STOPS: ("stop",),
        FILES: (
            *("file", "image", "input_reference", "known_speaker_references", "markup", "mask"),
            *("thread.messages.attachments", "additional_messages.attachments"),
        ),
        PLACES: ("web_search_options.user_location",),
    },
)

_A = "anthropic.types"
_MESSAGES = {"messages": "messages", "system": "system", "tools": "tools", "model": "model"}

ANTHROPIC = Provider(
    "anthropic",
    {
        "/v1/messages": Api(f"{_A}.message_create_params:MessageCreateParams", _MESSAGES),
        "/v1/messages?beta": Api(
            f"{_A}.beta.message_create_params:MessageCreateParams",
            {**_MESSAGES, "compaction.instructions": "arguments"},
        ),
        "/v1/messages/batches": Api(
            f"{_A}.messages.batch_create_params:BatchCreateParams",
            {f"requests.params.{name}": where for name, where in _MESSAGES.items()},
        ),
    },
    {
        IDS: (
            *("betas", "container", "diagnostics.previous_message_id", "fallback_credit_token", "inference_geo"),
            *("requests.custom_id", "thread.previous_message_id"),
        ),
        WHOSE: ("metadata.user_id", "user_profile_id", "workspace_id"),
        MODELS: ("fallbacks",),
        SHAPES: ("output_config", "tool_choice"),
        STOPS: ("stop_sequences",),
        SERVERS: ("mcp_servers",),
        CONTEXT: ("context_management.edits",),
    },
)
"""In batches, the same fields are inside of ``requests.params``."""

_G = "groq.types"

GROQ = Provider(
    "groq",
    {
        "/chat/completions": Api(
            f"{_G}.chat.completion_create_params:CompletionCreateParams", {**_CHAT, "documents": "arguments"}
        ),
        "/embeddings": Api(
            f"{_G}.embedding_create_params:EmbeddingCreateParams", {"input": "inputs", "model": "model"}
        ),
        "/audio/speech": Api(
            f"{_G}.audio.speech_create_params:SpeechCreateParams", {"input": "messages", "model": "model"}
        ),
        "/audio/transcriptions": Api(f"{_G}.audio.transcription_create_params:TranscriptionCreateParams", _PROMPT),
        "/audio/translations": Api(f"{_G}.audio.translation_create_params:TranslationCreateParams", _PROMPT),
    },
    {
        WHOSE: ("metadata", "user"),
        MODELS: ("compound_custom.models", "language", "voice"),
        SHAPES: ("function_call", "logit_bias", "response_format", "tool_choice"),
        STOPS: ("stop",),
        FILES: ("file", "url"),
        SERVERS: ("compound_custom.tools", "exclude_domains", "include_domains", "search_settings"),
    },
)

_DOCUMENTS = {"documents": "arguments", "tools": "tools", "model": "model"}
_CLASSIFY = {"inputs": "messages", "examples": "arguments", "model": "model"}
_SUMMARIZE = {"text": "messages", "additional_command": "arguments", "model": "model"}

COHERE = Provider(
    "cohere",
    {
        "/v2/chat": Api("cohere:ClientV2.chat", {"messages": "messages", **_DOCUMENTS}),
        "/v1/chat": Api(
            "cohere:Client.chat",
            {"message": "messages", "chat_history": "messages", "tool_results": "messages", "preamble": "system"}
            | _DOCUMENTS,
        ),
        "/v2/embed": Api(
            "cohere:ClientV2.embed", {"texts": "inputs", "inputs": "inputs", "images": "inputs", "model": "model"}
        ),
        "/v2/rerank": Api("cohere:ClientV2.rerank", {"query": "messages", "documents": "inputs", "model": "model"}),
        "/v1/rerank": Api("cohere:Client.rerank", {"query": "messages", "documents": "inputs", "model": "model"}),
        "/v1/classify": Api("cohere:Client.classify", _CLASSIFY),
        "/v1/summarize": Api("cohere:Client.summarize", _SUMMARIZE),
        "/v1/generate": Api("cohere:Client.generate", _PROMPT),
        "/v2/parse": Api("cohere:ClientV2.parse", {"document": "inputs", "model": "model"}),
    },
    {
        IDS: ("conversation_id", "preset", "rank_fields"),
        SHAPES: (
            *("citation_options.mode", "citation_quality", "embedding_types", "extractiveness", "format"),
            *("input_type", "length", "output_format", "prompt_truncation", "relevant_spans.mode"),
            *("request_options", "response_format", "return_likelihoods", "safety_mode", "thinking.type"),
            *("tool_choice", "truncate"),
        ),
        STOPS: ("end_sequences", "stop_sequences"),
        SERVERS: ("connectors",),
    },
)

_M = "mistralai.client.models"
_MISTRAL_CHAT = {"messages": "messages", "tools": "tools", "model": "model", "prediction.content": "arguments"}
_AGENT = {name: where for name, where in _MISTRAL_CHAT.items() if name != "model"}
_GOES_ON = {"inputs": "messages", "completion_args.prediction.content": "arguments"}

MISTRAL = Provider(
    "mistralai",
    {
        "/chat/completions": Api(f"{_M}:ChatCompletionRequest", _MISTRAL_CHAT),
        "/agents/completions": Api(f"{_M}:AgentsCompletionRequest", _AGENT),
        "/fim/completions": Api(f"{_M}:FIMCompletionRequest", {**_PROMPT, "suffix": "messages"}),
        "/embeddings": Api(f"{_M}:EmbeddingRequest", {"inputs": "inputs", "model": "model"}),
        "/conversations": Api(f"{_M}:ConversationRequest", {**_RUN, **_GOES_ON}),
        "/conversations/*": Api(f"{_M}:ConversationAppendRequest", _GOES_ON),
        "/conversations/*/restart": Api(f"{_M}:ConversationRestartRequest", _GOES_ON),
        "/ocr": Api(
            f"{_M}:OCRRequest", {"document": "inputs", "document_annotation_prompt": "arguments", "model": "model"}
        ),
        "/audio/speech": Api(
            f"{_M}:SpeechRequest", {"input": "messages", "conversation_history": "arguments", "model": "model"}
        ),
        "/audio/transcriptions": Api(f"{_M}:AudioTranscriptionRequest", {"model": "model"}),
        "/moderations": Api(f"{_M}:ClassificationRequest", {"inputs": "messages", "model": "model"}),
        "/chat/moderations": Api(f"{_M}:ChatModerationRequest", {"inputs": "messages", "model": "model"}),
        "/chat/classifications": Api(f"{_M}:ChatClassificationRequest", {"input": "messages", "model": "model"}),
    },
    {
        IDS: ("agent_id", "from_entry_id", "prompt_cache_key", "tool_confirmations.tool_call_id"),
        WHOSE: ("metadata",),
        MODELS: ("guardrails", "language", "voice_id"),
        SHAPES: (
            *("bbox_annotation_format", "completion_args.response_format", "document_annotation_format"),
            "response_format",
        ),
        STOPS: ("completion_args.stop", "stop"),
        FILES: ("file", "file_id", "file_url", "ref_audio"),
        VOCABULARY: ("context_bias", "phoneme_hints", "speaker_references"),
        TITLES: ("description", "name"),
    },
)

_T = "google.genai.types"

GOOGLE = Provider(
    "google-genai",
    {
        "generateContent": Api(f"{_T}:GenerateContentConfig", {"system_instruction": "system", "tools": "tools"}),
        "embedContent": Api(f"{_T}:EmbedContentConfig", {}),
        "predict (pictures)": Api(f"{_T}:GenerateImagesConfig", {"negative_prompt": "arguments"}),
        "predict (edits)": Api(f"{_T}:EditImageConfig", {"negative_prompt": "arguments"}),
        "predictLongRunning": Api(f"{_T}:GenerateVideosConfig", {"negative_prompt": "arguments"}),
    },
    {
        IDS: ("cached_content", "continuation_token", "model_armor_config", "routing_config"),
        WHOSE: ("labels", "webhook_config.user_metadata"),
        MODELS: ("speech_config",),
        SHAPES: (
            *("aspect_ratio", "http_options", "image_config", "image_size", "mime_type", "output_mime_type"),
            *("person_generation", "resolution", "response_json_schema", "response_mime_type"),
            *("response_modalities", "response_schema", "task_type", "tool_config"),
        ),
        STOPS: ("stop_sequences",),
        FILES: (
            *("generation_output_config", "last_frame", "mask", "output_gcs_uri", "pubsub_topic", "reference_images"),
            "webhook_config.uris",
        ),
        VOCABULARY: ("audio_transcription_config",),
        TITLES: ("title",),
    },
)
"""The contents are an argument of their own: ``messages``."""

BEDROCK = Provider(
    "botocore",
    {
        "Converse": Api(
            "bedrock-runtime:Converse",
            {
                "messages": "messages",
                "system": "system",
                "toolConfig": "tools",
                "modelId": "model",
                "promptVariables": "arguments",
            },
        ),
        "InvokeModel": Api("bedrock-runtime:InvokeModel", {"body": "messages or inputs", "modelId": "model"}),
        "StartAsyncInvoke": Api(
            "bedrock-runtime:StartAsyncInvoke", {"modelInput": "messages or inputs", "modelId": "model"}
        ),
    },
    {
        IDS: (
            *("clientRequestToken", "guardrailConfig", "guardrailIdentifier", "guardrailVersion"),
            "projectIdentifier",
        ),
        WHOSE: ("requestMetadata", "tags"),
        SHAPES: ("accept", "additionalModelResponseFieldPaths", "contentType", "outputConfig"),
        STOPS: ("inferenceConfig.stopSequences",),
        FILES: ("outputDataConfig",),
        OTHERS: ("additionalModelRequestFields",),
    },
)

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
