"""What each library that spanhook binds says of itself, once: whatever else names libraries reads it here.

Start-up code reads this file too, in Pythons that have no spanhook and may be older: it is plain, and imports nothing.
"""


class Tracing:
    """How a library traces itself.

    Attributes:
        scopes: Instrumentation scopes of its OpenTelemetry spans; none where its traces are its own.
        when: Under which circumstances.
        swallows: Whether it makes the call whatever the start of its span raises.
    """

    __slots__ = ("scopes", "swallows", "when")

    def __init__(self, scopes: "tuple[str, ...]", when: str, swallows: bool = False) -> None:
        self.scopes, self.when, self.swallows = scopes, when, swallows


class Declaration:
    """What one library says of itself.

    Attributes:
        library: The name users know it by, and that of its folder here.
        instrumentor: The class that has its points, as ``module:Class``; imported once it is asked for.
        requirement: Its distribution and the versions that are supported, as in a requirements file.
        extra: What of spanhook installs it.
        module: What it is imported by; its name unless given.
        layer: Whose view of an operation its adapters give: what their layers begin with. No other library has it.
        aliases: Names that users may give it beside its own and its distribution's.
        words: What scopes of others' spans for its calls have in their names, and distributions that make such spans.
        unlike: Longer words that have one of those in them, and stand for some other library.
        doubled: Kinds of those spans that are for its calls, where some of them are not; all unless given.
        swallowing: Scopes of others that make its calls whatever the start of their spans raises.
        tracing: How it traces itself, if it does.
        variables: What the names of environment variables begin with that it reads.
        knows: Libraries whose folders its own may import.
    """

    __slots__ = (
        "aliases",
        "doubled",
        "extra",
        "instrumentor",
        "knows",
        "layer",
        "library",
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
        layer: str = "",
        aliases: "tuple[str, ...]" = (),
        words: "tuple[str, ...]" = (),
        unlike: "tuple[str, ...]" = (),
        doubled: "tuple[str, ...]" = (),
        swallowing: "tuple[str, ...]" = (),
        tracing: "Tracing | None" = None,
        variables: "tuple[str, ...]" = (),
        knows: "tuple[str, ...]" = (),
    ) -> None:
        self.library, self.instrumentor, self.requirement, self.extra = library, instrumentor, requirement, extra
        self.module, self.layer, self.aliases, self.knows = module or library, layer or library, aliases, knows
        self.words, self.unlike, self.doubled = words or (_plain(library),), unlike, doubled
        self.swallowing, self.tracing, self.variables = swallowing, tracing, variables

    @property
    def distribution(self) -> str:
        """The name it is installed by."""
        return self.requirement.partition(" ")[0]

    @property
    def names(self) -> "tuple[str, ...]":
        """Every name that users may give it."""
        return (self.library, self.distribution, *self.aliases)

    def doubles(self, scope: str, kind: str) -> bool:
        """Whether a span of another's, or one of its own, is for a call that is an operation while it is bound."""
        return self.recognises(scope) and (not self.doubled or kind in self.doubled)

    def recognises(self, scope: str) -> bool:
        """Whether spans of this scope are about it, its own ones among them; or those of this distribution."""
        if self.tracing is not None and any(scope == one or scope.startswith(one + ".") for one in self.tracing.scopes):
            return True
        name = _plain(scope)
        for other in self.unlike:
            name = name.replace(other, "")
        return any(word in name for word in self.words)


def _plain(name: str) -> str:
    return name.lower().replace("-", "_").replace(".", "_")


#: Libraries by name.
INSTRUMENTORS = {
    one.library: one
    for one in (
        Declaration(
            "anthropic",
            instrumentor="spanhook.instrument.anthropic:AnthropicInstrumentor",
            requirement="anthropic >= 1.0, < 3",
            extra="anthropic",
            doubled=("llm.call",),  # its SDK opens spans for tools and agents besides
            tracing=Tracing(("com.anthropic.sdk.python",), "unless ANTHROPIC_OPEN_TELEMETRY=false", swallows=True),
            variables=("ANTHROPIC_",),
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
            variables=("LANGGRAPH_",),
            knows=("langchain_core",),
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
    )
}
