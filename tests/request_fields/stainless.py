"""The fields of requests of the clients that Stainless generates: OpenAI, Anthropic, Groq."""

from tests.request_fields.kinds import CONTEXT, FILES, IDS, MODELS, PLACES, SERVERS, SHAPES, STOPS, WHOSE, Api, Provider

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
            *("background_options.continuation_id", "conversation", "previous_response_id", "prompt.id"),
            *("prompt.version", "assistant_id", "thread_id"),
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
