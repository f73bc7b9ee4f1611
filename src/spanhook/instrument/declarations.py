"""The facts about each library that spanhook binds, in one place: other code that names libraries reads them here.

Start-up code also reads this file, in interpreters without spanhook and possibly older: so it is plain, and imports
nothing.
"""


class Tracing:
    """How a library traces itself.

    Attributes:
        scopes: Instrumentation scopes of its OpenTelemetry spans; none if it has its own trace format.
        when: Under which conditions.
        swallows: Whether it makes the call even if the start of its span raises.
    """

    __slots__ = ("scopes", "swallows", "when")

    def __init__(self, scopes: "tuple[str, ...]", when: str, swallows: bool = False) -> None:
        self.scopes, self.when, self.swallows = scopes, when, swallows


class Declaration:
    """The facts about one library.

    Attributes:
        library: The name users know it by, and its folder here.
        instrumentor: The class with its points, as ``module:Class``; imported on first use.
        requirement: Its distribution and supported versions, as in a requirements file.
        extra: The extra of spanhook that installs it.
        module: The module to import; its name unless given.
        beside: Packages besides that of the module in which its points are.
        mark: Files or folders of which its package has one, if other packages use the module's name too.
        layer: The unique prefix of its adapters' layers.
        aliases: Names that users may use besides its own and its distribution's.
        words: Words in the names of other instrumentations' scopes and distributions that create spans for its calls.
        unlike: Longer words that contain one of those and mean another library.
        doubled: The kinds of those spans that are for its calls, if not all of them; all unless given.
        swallowing: Scopes of other instrumentations that make its calls even if the start of their spans raises.
        tracing: How it traces itself, if it does.
        variables: Prefixes of the environment variables that it reads.
        knows: Libraries from whose folders its own may import.
        kinds: Kinds of operation that only this library has.
        beyond: What its calls do where they cannot be gated, in words that follow its name.
        late: A server, which reads its settings when it is imported: nobody imports it before it is started.
    """

    __slots__ = (
        "aliases",
        "beside",
        "beyond",
        "doubled",
        "extra",
        "instrumentor",
        "kinds",
        "knows",
        "late",
        "layer",
        "library",
        "mark",
        "module",
        "requirement",
        "swallowing",
        "tracing",
        "unlike",
        "variables",
        "words",
    )

    def __init__(
        self,
        library: str,
        *,
        instrumentor: str,
        requirement: str,
        extra: str,
        module: str = "",
        beside: "tuple[str, ...]" = (),
        mark: "tuple[str, ...]" = (),
        layer: str = "",
        aliases: "tuple[str, ...]" = (),
        words: "tuple[str, ...]" = (),
        unlike: "tuple[str, ...]" = (),
        doubled: "tuple[str, ...]" = (),
        swallowing: "tuple[str, ...]" = (),
        tracing: "Tracing | None" = None,
        variables: "tuple[str, ...]" = (),
        knows: "tuple[str, ...]" = (),
        kinds: "tuple[str, ...]" = (),
        beyond: str = "",
        late: bool = False,
    ) -> None:
        self.library, self.instrumentor, self.requirement, self.extra = library, instrumentor, requirement, extra
        self.module, self.layer, self.aliases, self.knows = module or library, layer or library, aliases, knows
        self.words, self.unlike, self.doubled = words or (plain(library),), unlike, doubled
        self.swallowing, self.tracing, self.variables, self.kinds = swallowing, tracing, variables, kinds
        self.mark, self.beyond, self.late, self.beside = mark, beyond, late, beside

    @property
    def distribution(self) -> str:
        """The name under which it is installed."""
        return self.requirement.partition(" ")[0]

    @property
    def names(self) -> "tuple[str, ...]":
        """Every name that users may use for it."""
        return (self.library, self.distribution, *self.aliases)

    def doubles(self, scope: str, kind: str) -> bool:
        """Whether a span, its own or another instrumentation's, is for a call that is an operation while the library is
        bound.
        """
        return self.recognises(scope) and (not self.doubled or kind in self.doubled)

    def opens(self, scope: str) -> bool:
        """Whether the library opens the spans of a scope itself."""
        return self.tracing is not None and any(
            scope == one or scope.startswith(one + ".") for one in self.tracing.scopes
        )

    def recognises(self, scope: str) -> bool:
        """Whether a scope's or distribution's spans, including its own, are about this library."""
        if self.opens(scope):
            return True
        name = plain(scope)
        for other in self.unlike:
            name = name.replace(other, "")
        return any(word in name for word in self.words)


def plain(name: str) -> str:
    """A name as it is compared with others: case and separators do not count."""
    return name.lower().replace("-", "_").replace(".", "_")


#: Libraries by name.
INSTRUMENTORS = {
    one.library: one
    for one in (
        Declaration(
            "aegra",
            instrumentor="spanhook.instrument.aegra:AegraInstrumentor",
            requirement="aegra-api >= 0.6, < 1",
            extra="aegra",
            module="aegra_api",
            knows=("starlette",),
        ),
        Declaration(
            "agent_framework",
            instrumentor="spanhook.instrument.agent_framework:AgentFrameworkInstrumentor",
            requirement="agent-framework-core >= 1.0, < 2",
            extra="agent-framework",
            beside=("agent_framework_orchestrations",),
            aliases=("agent-framework",),
            tracing=Tracing(("agent_framework",), "unless ENABLE_INSTRUMENTATION=false; version 1.0 if that is true"),
            variables=("ENABLE_",),
        ),
        Declaration(
            "aiobotocore",
            instrumentor="spanhook.instrument.aiobotocore:AiobotocoreInstrumentor",
            requirement="aiobotocore >= 2.13.1, < 4",
            extra="aiobotocore",
            doubled=("llm.call", "embeddings.create"),
            variables=("AWS_",),
            knows=("botocore",),
        ),
        Declaration(
            "anthropic",
            instrumentor="spanhook.instrument.anthropic:AnthropicInstrumentor",
            requirement="anthropic >= 1.0, < 3",
            extra="anthropic",
            doubled=("llm.call", "tool.execute"),  # its SDK also opens spans for agents
            tracing=Tracing(("com.anthropic.sdk.python",), "unless ANTHROPIC_OPEN_TELEMETRY=false", swallows=True),
            variables=("ANTHROPIC_",),
        ),
        Declaration(
            "botocore",
            instrumentor="spanhook.instrument.botocore:BotocoreInstrumentor",
            requirement="botocore >= 1.34.116, < 2",
            extra="bedrock",
            aliases=("bedrock", "boto3"),
            words=("botocore", "bedrock"),
            unlike=("aiobotocore",),
            doubled=("llm.call", "embeddings.create"),  # others have spans for calls of all of AWS's services
            variables=("AWS_",),
        ),
        Declaration(
            "claude_agent_sdk",
            instrumentor="spanhook.instrument.claude_agent_sdk:ClaudeAgentInstrumentor",
            requirement="claude-agent-sdk >= 0.2.178, < 0.3",
            extra="claude-agent-sdk",
            words=("claude_agent_sdk", "claude_agent", "claude_code"),
            tracing=Tracing((), "the Claude Code it starts, with CLAUDE_CODE_ENABLE_TELEMETRY=1"),
            variables=("ANTHROPIC_", "CLAUDE_"),
            beyond="its program calls the model in a process of its own: these calls are reported, but not gated",
        ),
        Declaration(
            "cohere",
            instrumentor="spanhook.instrument.cohere:CohereInstrumentor",
            requirement="cohere >= 5.13, < 8",
            extra="cohere",
            variables=("CO_", "COHERE_"),
        ),
        Declaration(
            "crewai",
            instrumentor="spanhook.instrument.crewai:CrewAIInstrumentor",
            requirement="crewai >= 1.15, < 2",
            extra="crewai",
            tracing=Tracing(("crewai", "crewai.telemetry"), "to CrewAI, unless CREWAI_DISABLE_TELEMETRY=true"),
            variables=("CREWAI_",),
        ),
        Declaration(
            "dspy",
            instrumentor="spanhook.instrument.dspy:DSPyInstrumentor",
            requirement="dspy >= 2.6.27, < 4",
            extra="dspy",
            variables=("DSPY_", "DSP_"),
        ),
        Declaration(
            "fast_agent",
            instrumentor="spanhook.instrument.fast_agent:FastAgentInstrumentor",
            requirement="fast-agent-mcp >= 0.8, < 1",
            extra="fast-agent",
            aliases=("fast-agent",),
            tracing=Tracing(("fast_agent",), "always"),
            variables=("FAST_AGENT_",),
        ),
        Declaration(
            "fastapi",
            instrumentor="spanhook.instrument.fastapi:FastAPIInstrumentor",
            requirement="fastapi >= 0.118, < 1",
            extra="fastapi",
            knows=("starlette",),
        ),
        Declaration(
            "google_adk",
            instrumentor="spanhook.instrument.google_adk:GoogleADKInstrumentor",
            requirement="google-adk >= 1.33, < 3",
            extra="google-adk",
            module="google.adk",
            aliases=("google.adk", "adk"),
            tracing=Tracing(("gcp.vertex.agent",), "always"),
            variables=("ADK_", "GOOGLE_"),
        ),
        Declaration(
            "google_genai",
            instrumentor="spanhook.instrument.google_genai:GoogleGenAIInstrumentor",
            requirement="google-genai >= 1.22, < 4",
            extra="google-genai",
            module="google.genai",
            aliases=("google.genai",),
            words=("google_genai", "google_generativeai"),  # one that is named after the SDK before it
            variables=("GOOGLE_", "GEMINI_"),
        ),
        Declaration(
            "groq",
            instrumentor="spanhook.instrument.groq:GroqInstrumentor",
            requirement="groq >= 0.30, < 2",
            extra="groq",
            variables=("GROQ_",),
        ),
        Declaration(
            "haystack",
            instrumentor="spanhook.instrument.haystack:HaystackInstrumentor",
            requirement="haystack-ai >= 2.28, < 4",
            extra="haystack",
            mark=("core/pipeline",),  # the distribution with this name is another library
            tracing=Tracing(("haystack",), "if the application calls haystack.tracing.enable_tracing()"),
            variables=("HAYSTACK_",),
        ),
        Declaration(
            "langchain_core",
            instrumentor="spanhook.instrument.langchain_core:LangChainInstrumentor",
            requirement="langchain-core >= 1.0, < 2",
            extra="langchain",
            layer="langchain",
            aliases=("langchain",),
            words=("langchain",),
            swallowing=("openinference.instrumentation.langchain",),
            variables=("LANGCHAIN_", "LANGSMITH_"),
        ),
        Declaration(
            "langgraph",
            instrumentor="spanhook.instrument.langgraph:LangGraphInstrumentor",
            requirement="langgraph >= 1.0, < 2",
            extra="langchain",
            unlike=("langgraph_api",),
            variables=("LANGGRAPH_",),
            knows=("langchain_core",),
        ),
        Declaration(
            "langgraph_api",
            instrumentor="spanhook.instrument.langgraph_api:LangGraphAPIInstrumentor",
            requirement="langgraph-api >= 0.13, < 1",
            extra="langgraph-api",
            knows=("starlette",),
            late=True,
        ),
        Declaration(
            "litellm",
            instrumentor="spanhook.instrument.litellm:LiteLLMInstrumentor",
            requirement="litellm >= 1.77, < 2",
            extra="litellm",
            tracing=Tracing(("litellm",), "if the application sets its callback otel"),
            variables=("LITELLM_",),
        ),
        Declaration(
            "llama_index",
            instrumentor="spanhook.instrument.llama_index:LlamaIndexInstrumentor",
            requirement="llama-index-core >= 0.14.10, < 0.15",
            extra="llama-index",
            module="llama_index.core",
            beside=("llama_index_instrumentation", "workflows"),
            aliases=("llama-index", "llamaindex"),
            words=("llama_index", "llamaindex"),
            tracing=Tracing((), "if the application adds handlers to its dispatcher; not as OpenTelemetry spans"),
            variables=("LLAMA_INDEX_",),
        ),
        Declaration(
            "mcp",
            instrumentor="spanhook.instrument.mcp:MCPInstrumentor",
            requirement="mcp >= 1.22, < 3",
            extra="mcp",
            words=("instrumentation_mcp", "logfire_mcp"),  # many servers have mcp in their name
            doubled=("tool.execute",),
            tracing=Tracing(("mcp-python-sdk",), "from version 2 on, always"),
            variables=("FASTMCP_",),
            kinds=("mcp.resource.read", "mcp.prompt.get"),
        ),
        Declaration(
            "mistralai",
            instrumentor="spanhook.instrument.mistralai:MistralInstrumentor",
            requirement="mistralai >= 2.0, < 4",
            extra="mistralai",
            words=("mistral",),
            tracing=Tracing(
                ("mistralai_sdk_tracer", "mistralai.extra.run.tools"),
                "if MISTRAL_SDK_TELEMETRY or telemetry= asks for it",
            ),
            variables=("MISTRAL_",),
        ),
        Declaration(
            "openai",
            instrumentor="spanhook.instrument.openai:OpenAIInstrumentor",
            requirement="openai >= 1.109, < 4",
            extra="openai",
            unlike=("openai_agents",),
            swallowing=("openinference.instrumentation.openai",),
            variables=("OPENAI_", "AZURE_OPENAI_"),
        ),
        Declaration(
            "openai_agents",
            instrumentor="spanhook.instrument.openai_agents:OpenAIAgentsInstrumentor",
            requirement="openai-agents >= 0.8, < 1",
            extra="openai-agents",
            module="agents",
            mark=("function_schema.py",),
            tracing=Tracing((), "to OpenAI, unless OPENAI_AGENTS_DISABLE_TRACING=1; not as OpenTelemetry spans"),
            variables=("OPENAI_",),
            knows=("openai",),
        ),
        Declaration(
            "pydantic_ai",
            instrumentor="spanhook.instrument.pydantic_ai:PydanticAIInstrumentor",
            requirement="pydantic-ai-slim >= 1.36, < 3",
            extra="pydantic-ai",
            aliases=("pydantic-ai",),
            tracing=Tracing(("pydantic-ai",), "if the application calls Agent.instrument_all() or logfire does"),
            variables=("PYDANTIC_AI_",),
        ),
        Declaration(
            "smolagents",
            instrumentor="spanhook.instrument.smolagents:SmolagentsInstrumentor",
            requirement="smolagents >= 1.20, < 2",
            extra="smolagents",
        ),
        Declaration(
            "starlette",
            instrumentor="spanhook.instrument.starlette:StarletteInstrumentor",
            requirement="starlette >= 0.40, < 2",
            extra="starlette",
        ),
        Declaration(
            "strands",
            instrumentor="spanhook.instrument.strands:StrandsInstrumentor",
            requirement="strands-agents >= 1.20, < 2",
            extra="strands",
            aliases=("strands_agents",),
            tracing=Tracing(("strands.telemetry.tracer",), "always"),
        ),
    )
}
