"""Agent libraries and provider SDKs that spanhook knows but does not bind: their names, and what bypasses spanhook.

A library that gets an instrumentor leaves this table. It omits libraries that make all calls through another one that
is listed or bound, such as langchain-groq, deepagents or instructor. Names of modules, distributions and scopes
come from the packages' own source.
"""

from dataclasses import dataclass
from typing import Final

from spanhook.instrument.declarations import Tracing


@dataclass(frozen=True, slots=True)
class Bypass:
    """What bypasses spanhook while a library is not bound.

    Attributes:
        what: A description of it.
        direct: Whether calls made by a bound library do not bypass spanhook.
    """

    what: str
    direct: bool = False


MODELS: Final = Bypass("model calls made with it directly", direct=True)
EMBEDDINGS: Final = Bypass("embeddings made with it directly", direct=True)
SERVED_TOOLS: Final = Bypass("its tools, where they are called without a request (FastMCP.call_tool, Tool.run),")
AGENTS: Final = Bypass("its agents and tools")
ALL: Final = Bypass("its agents, tools and model calls")


@dataclass(frozen=True, slots=True)
class Known:
    """A library.

    Attributes:
        library: The name users know it by.
        bypass: What bypasses spanhook while it is not bound.
        distributions: Names under which it is installed; its own, with hyphens, unless given.
        modules: Modules of which one is imported if it is in use; the one of its name unless given.
        use: How messages describe it while it is in use.
        mark: Files or folders of which its package has one, if other packages use the module's name too.
        shared: Whether its distribution is mostly installed for other purposes, so that being installed says nothing.
        tracing: How it traces itself, if it does.
        through: The library whose gates its calls pass, except those of the functions in ``around``.
        around: Functions, as ``module:name``, that bypass those gates unless a gated tool call is running.
    """

    library: str
    bypass: Bypass
    distributions: tuple[str, ...] = ()
    modules: tuple[str, ...] | None = None
    use: str = "imported"
    mark: tuple[str, ...] = ()
    shared: bool = False
    tracing: Tracing | None = None
    through: str = ""
    around: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Fill in what derives from the name."""
        if not self.distributions:
            object.__setattr__(self, "distributions", (self.library.replace(".", "-").replace("_", "-"),))
        if self.modules is None:
            object.__setattr__(self, "modules", (self.library,))


BEDROCK: Final = Known(
    "bedrock_agents",
    Bypass("agents and knowledge bases that AWS runs"),
    ("boto3", "botocore"),
    modules=(),
    use="used for Bedrock's agents",
    shared=True,
)
"""In use once botocore creates a client for one of these services: nothing else shows that AWS runs agents."""

FASTMCP: Final = Known(
    "fastmcp",
    SERVED_TOOLS,
    tracing=Tracing(("fastmcp",), "unless FASTMCP_TELEMETRY_MODE=off"),
    through="mcp",
    around=(
        "fastmcp.server.server:FastMCP.call_tool",
        "fastmcp.tools.function_tool:FunctionTool.run",
        "fastmcp.tools.tool:FunctionTool.run",  # up to version 2, as the next
        "fastmcp.tools.tool_manager:ToolManager.call_tool",
    ),
)
"""Its clients send through the sessions of ``mcp``, and its servers answer requests through the servers of ``mcp``."""

_PROVIDERS = (
    Known("ai21", MODELS),
    Known(
        "azure.ai.inference",
        MODELS,
        tracing=Tracing((), "if the application calls AIInferenceInstrumentor().instrument()"),
    ),
    BEDROCK,
    Known("cerebras.cloud.sdk", MODELS),
    Known("dashscope", MODELS),
    Known("fireworks", MODELS, ("fireworks-ai",)),
    Known("google.generativeai", MODELS),
    Known(
        "huggingface_hub",
        MODELS,
        modules=("huggingface_hub.inference._client", "huggingface_hub.inference._generated._async_client"),
        shared=True,
    ),
    Known("ibm_watsonx_ai", MODELS),
    Known("ollama", MODELS),
    Known("replicate", MODELS),
    Known("together", MODELS),
    Known(
        "vertexai",
        MODELS,
        ("google-cloud-aiplatform", "vertexai"),
        modules=("vertexai.generative_models",),
        shared=True,
    ),
    Known("voyageai", EMBEDDINGS),
    Known("writerai", MODELS, ("writer-sdk",)),
    Known(
        "xai_sdk",
        MODELS,
        tracing=Tracing(("xai_sdk.sync.chat", "xai_sdk.aio.chat"), "unless XAI_SDK_DISABLE_TRACING=1"),
    ),
)

_AGENTS = (
    Known(
        "ag2",
        ALL,
        ("ag2", "pyautogen"),
        modules=("ag2", "autogen"),
        mark=("hitl.py", "agentchat"),
        tracing=Tracing(("opentelemetry.instrumentation.ag2",), "if the application adds its TelemetryMiddleware"),
    ),
    Known("agno", ALL),
    Known(
        "autogen_agentchat",
        AGENTS,
        ("autogen-agentchat", "autogen-core"),
        modules=("autogen_core", "autogen_agentchat"),
        tracing=Tracing(("autogen-core",), "always"),
    ),
    Known("camel", ALL, ("camel-ai",)),
    FASTMCP,
    Known("livekit.agents", ALL, tracing=Tracing(("livekit-agents",), "always")),
    Known(
        "pipecat", ALL, ("pipecat-ai",), tracing=Tracing(("pipecat",), "if the application sets enable_tracing=True")
    ),
    Known(
        "semantic_kernel",
        AGENTS,
        tracing=Tracing(
            (
                "semantic_kernel.functions.kernel_function",
                "semantic_kernel.utils.telemetry.model_diagnostics.decorators",
            ),
            "functions always, models with SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS=true",
        ),
    ),
)

KNOWN: Final = tuple(sorted((*_PROVIDERS, *_AGENTS), key=lambda known: known.library))
