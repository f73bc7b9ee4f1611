"""What is gated in DSPy, and every way of calling it, against a server on loopback."""

import asyncio
import os
import tempfile
import warnings
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from spanhook.cli.conformance.servers.openai_server import OpenAIServer, Reply, Tokens
from spanhook.cli.conformance.servers.requests import Line
from spanhook.cli.conformance.subject import OVER_HTTP, Body, Subject, Ungated, Use

os.environ.setdefault("DSPY_CACHEDIR", tempfile.mkdtemp(prefix="spanhook-dspy-"))
os.environ.setdefault("DEFAULT_MAX_RETRIES", "0")  # of clients of OpenAI where LiteLLM passes no number on
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # otherwise importing it fetches a list of prices
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    dspy: Any = import_module("dspy")
    _litellm: Any = (
        import_module("spanhook.cli.conformance.libraries.litellm_ways") if find_spec("litellm") is not None else None
    )

ASK = "Say hello."
FOUND = "Reykjavik"
MESSAGES: Any = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": ASK}]


@cache
def _openai() -> OpenAIServer:
    return OpenAIServer().__enter__()


def model(body: Body) -> Any:
    """A model without a cache, whose requests count as runs of ``body``."""
    url = _openai().url_for(Line(body, lambda _seen: Tokens().total))
    return dspy.LM("openai/gpt-4o-mini", api_base=url, api_key="test", cache=False, num_retries=0)


def tool(body: Body) -> Any:
    def search(query: str) -> str:
        """Search."""
        body.run(query)
        return FOUND

    return dspy.Tool(search)


def async_tool(body: Body) -> Any:
    async def search(query: str) -> str:
        """Search."""
        await asyncio.sleep(0)
        body.run(query)
        return FOUND

    return dspy.Tool(search)


class Called:
    """A tool call of a model, and the function of the tool."""

    def __init__(self, body: Body) -> None:
        self.tool = tool(body)
        self.call = dspy.ToolCalls.ToolCall(name="search", args={"query": ASK})


def _found_here(called: Called) -> Any:
    search = called.tool.func  # DSPy looks for it by name in the frame that calls it
    assert search is not None
    return called.call.execute()


def embedder(body: Body) -> Any:
    """Embeddings by a function of the application."""

    def embed(texts: list[str]) -> Any:
        body.run(texts)
        return [[0.1, 0.2] for _ in texts]

    return dspy.Embedder(embed, caching=False)


def hosted_embedder(body: Body) -> Any:
    url = _openai().url_for(Line(body, lambda _seen: Tokens().input))
    return dspy.Embedder("openai/text-embedding-3-small", caching=False, api_base=url, api_key="test", num_retries=0)


def _vectors(found: Any) -> Any:
    return found.tolist()


class Program(dspy.Module):
    """A program that calls no model."""

    def __init__(self, body: Body) -> None:
        super().__init__()  # pyright: ignore[reportUnknownMemberType]
        self.body = body

    def forward(self, question: str) -> Any:
        self.body.run(question)
        return dspy.Prediction(answer=FOUND)

    async def aforward(self, question: str) -> Any:
        return self.forward(question)


class Interpreter:
    """Counts what it is to run, but for what defines the tools of a program."""

    def __init__(self, body: Body) -> None:
        self.body = body
        self.tools: dict[str, Any] = {}

    def start(self) -> None:
        """It is always there."""

    def shutdown(self) -> None:
        """It is always there."""

    def execute(self, code: str, variables: Any = None) -> str:
        del variables
        if not code.lstrip().startswith("def "):
            self.body.run(code)
        return FOUND

    __call__ = execute


def nothing() -> None:
    """Do nothing."""


def coder(body: Body) -> Any:
    """A program whose model writes code once, and then answers."""
    given: dict[str, Any] = {"tools": [nothing], "max_iters": 1}
    if not hasattr(dspy, "RLM"):
        program = dspy.CodeAct("question -> answer", **given)
        program.interpreter = Interpreter(body)
        return program
    return dspy.CodeAct("question -> answer", **given, interpreter_factory=lambda: Interpreter(body))


def _coded(program: Any) -> Any:
    written, said = {"generated_code": "print(1)", "finished": "True"}, {"reasoning": "So.", "answer": FOUND}
    with dspy.context(lm=dspy.utils.DummyLM([written, said])), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return program(question=ASK).answer


async def _later(lm: Any, **asked: Any) -> Any:
    if _litellm is not None:
        _litellm.renew()
    return await lm.acall(**asked)


async def _embedded(embedder: Any, asked: Any) -> Any:
    if _litellm is not None:
        _litellm.renew()
    return _vectors(await embedder.acall(asked))


async def _told(program: Any) -> Any:
    return (await program.acall(question=ASK)).toDict()


MODEL_WAYS: dict[str, Use] = {
    "call": lambda lm: lm(messages=MESSAGES),
    "prompt": lambda lm: lm(ASK),
    "acall": lambda lm: _later(lm, messages=MESSAGES),
    "acall prompt": lambda lm: _later(lm, prompt=ASK),
}
TOOL_WAYS: dict[str, Use] = {"call": lambda tool: tool(query=ASK), "acall": lambda tool: tool.acall(query=ASK)}
CALLED_WAYS: dict[str, Use] = {
    "tools": lambda called: called.call.execute([called.tool]),
    "functions": lambda called: called.call.execute(functions={"search": called.tool.func}),
    "found": _found_here,
}
EMBEDDER_WAYS: dict[str, Use] = {
    "call": lambda embedder: _vectors(embedder([ASK])),
    "acall": lambda embedder: _embedded(embedder, [ASK]),
}
PROGRAM_WAYS: dict[str, Use] = {
    "call": lambda program: program(question=ASK).toDict(),
    "acall": _told,
}


_CALLED = (
    Subject(
        "a tool call in DSPy",
        "tool.execute",
        Called,
        CALLED_WAYS,
        {"call": lambda called: lambda call=called.call.execute: call([called.tool])},
        asked=ASK,
        said=FOUND,
    ),
)
_EMBEDDERS = (
    Subject(
        "DSPy's embedder",
        "embeddings.create",
        hosted_embedder,
        EMBEDDER_WAYS,
        {},
        asked=ASK,
        faults=OVER_HTTP,
        slow=True,
    ),
    Subject(
        "a function as DSPy's embedder",
        "embeddings.create",
        embedder,
        EMBEDDER_WAYS,
        {},
        asked=ASK,
        answer=[[0.5, 0.5]],
    ),
)
SUBJECTS: tuple[Subject, ...] = (
    Subject(
        "DSPy's model",
        "llm.call",
        model,
        MODEL_WAYS,
        {"call": lambda lm: lambda call=lm.__call__: call(ASK)},
        asked=ASK,
        said=Reply.text,
        faults=OVER_HTTP,
        slow=True,
    ),
    Subject("a DSPy tool", "tool.execute", tool, TOOL_WAYS, {}, asked=ASK, said=FOUND),
    Subject("an async DSPy tool", "tool.execute", async_tool, {"acall": TOOL_WAYS["acall"]}, {}, asked=ASK, said=FOUND),
    Subject("a DSPy program", "agent.invoke", Program, PROGRAM_WAYS, {}, answer={"answer": "an answer"}),
    Subject("code that a DSPy program runs", "tool.execute", coder, {"CodeAct": _coded}, {}, raises=False),
    *(_CALLED if hasattr(dspy.ToolCalls.ToolCall, "execute") else ()),
    *(_EMBEDDERS if find_spec("numpy") is not None else ()),
)

UNGATED = (
    Ungated("the function of a tool, called directly", tool, lambda made: made.func(query=ASK)),
    Ungated("forward and aforward of a model or a module, called directly", Program, lambda made: made.forward(ASK)),
    Ungated("what code that CodeAct and ProgramOfThought run calls"),
)
