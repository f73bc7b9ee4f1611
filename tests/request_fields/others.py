"""The fields of requests of Cohere's, Mistral's, Google's and AWS's clients."""

from tests.request_fields.kinds import (
    FILES,
    IDS,
    MODELS,
    OTHERS,
    SERVERS,
    SHAPES,
    STOPS,
    TITLES,
    VOCABULARY,
    WHOSE,
    Api,
    Provider,
)

_PROMPT = {"prompt": "messages", "model": "model"}
_RUN = {"instructions": "system", "tools": "tools", "model": "model"}
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
        IDS: ("agent_id", "agent_version", "from_entry_id", "prompt_cache_key", "tool_confirmations.tool_call_id"),
        WHOSE: ("metadata",),
        MODELS: ("guardrails", "language", "voice_id"),
        SHAPES: (
            *("bbox_annotation_format", "completion_args.response_format", "document_annotation_format"),
            *("pages", "response_format", "tool_choice"),
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
