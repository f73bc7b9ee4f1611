"""Agents, models and tools of smolagents, made so that they count, and every way of calling them."""

import inspect
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import Any

from spanhook.cli.conformance.servers.openai_server import OpenAIServer, Reply, Tokens
from spanhook.cli.conformance.servers.requests import Line
from spanhook.cli.conformance.subject import PLANTED, Body, Use

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    smolagents: Any = import_module("smolagents")  # it is not in the environment that types are checked in
    _executor: Any = import_module("smolagents.local_python_executor")
    _models: Any = import_module("smolagents.models")
    _monitoring: Any = import_module("smolagents.monitoring")
CodeAgent, ToolCallingAgent = smolagents.CodeAgent, smolagents.ToolCallingAgent

ASK = "Say hello."
FOUND = "found leaves everywhere"
"""What the tools of these agents return."""
Turn = str | list[tuple[str, dict[str, Any]]]
"""What a scripted model says: text, or tools and their arguments; empty to repeat what it was told last."""


class Own(_models.Model):
    """A model of the application's own, in turns.

    Args:
        body: What its calls are runs of.
        turns: What it says, one after the other; the last one from then on.
    """

    def __init__(self, body: Body | None = None, *turns: Turn) -> None:
        base: Any = super()
        base.__init__(model_id="own")
        self.body, self.turns, self.calls = body, turns or (Reply.text,), 0

    def _next(self, messages: Any) -> tuple[Turn, Any]:
        tokens = Tokens()
        if self.body is None:
            tokens = Tokens(0, 0)  # without a body, nobody counts them
        else:
            self.body.run(messages, tokens.total)
        said = self.turns[min(self.calls, len(self.turns) - 1)]
        self.calls += 1
        return said or _told(messages), _monitoring.TokenUsage(tokens.input, tokens.output)

    def generate(self, messages: Any, *_args: Any, **_given: Any) -> Any:
        said, used = self._next(messages)
        calls = None
        if not isinstance(said, str):
            calls = [
                _models.ChatMessageToolCall(
                    id=f"call_{place}",
                    type="function",
                    function=_models.ChatMessageToolCallFunction(name=name, arguments=arguments),
                )
                for place, (name, arguments) in enumerate(said)
            ]
        content = said if isinstance(said, str) else None
        return _models.ChatMessage(role="assistant", content=content, tool_calls=calls, token_usage=used)

    def generate_stream(self, messages: Any, *_args: Any, **_given: Any) -> Iterator[Any]:
        said, used = self._next(messages)
        for piece in str(said).split(" "):
            yield _models.ChatMessageStreamDelta(content=f"{piece} ")
        yield _models.ChatMessageStreamDelta(content="", token_usage=used)


def _told(messages: Any) -> str:
    """The last thing that the model was told that comes of a tool or of code."""
    told = [one for one in messages if getattr(one.role, "value", one.role) == "tool-response"]
    return "".join(part["text"] for part in told[-1].content)


@cache
def server(text: str) -> OpenAIServer:
    """A provider that says this."""
    return OpenAIServer(Reply(text=text)).__enter__()


def openai_model(body: Body, text: str = Reply.text) -> Any:
    """A model behind HTTP, whose requests are the runs of the body."""
    url = server(text).url_for(Line(body, lambda _seen: Tokens().total))
    has_retry = "retry" in inspect.signature(_models.ApiModel.__init__).parameters
    given: dict[str, Any] = {"retry": False} if has_retry else {}  # it waits for a minute
    return _models.OpenAIServerModel(
        "gpt-4o-mini", api_base=url, api_key="test", client_kwargs={"max_retries": 0}, **given
    )


def agent(model: Any, *tools: Any, name: str = "helper", kind: Any = ToolCallingAgent, **given: Any) -> Any:
    quiet = _monitoring.LogLevel.OFF
    return kind([*tools], model, name=name, description="Helps.", verbosity_level=quiet, **given)


def code(text: str) -> str:
    """What a model says that has written code."""
    return f"Thought: so be it.\n<code>\n{text}\n</code>"


ANSWERS: list[tuple[str, dict[str, Any]]] = [("final_answer", {"answer": Reply.text})]
_IN_TEXT = '{"name": "final_answer", "arguments": {"answer": "hello there friend"}}'


def asking(body: Body) -> Any:
    return agent(Own(body, ANSWERS))


def coding(body: Body) -> Any:
    return agent(Own(body, code(f"final_answer({Reply.text!r})")), kind=CodeAgent)


def openai_agent(body: Body) -> Any:
    return agent(openai_model(body, _IN_TEXT))


def tool(body: Body) -> Any:
    @smolagents.tool
    def look_up(query: str) -> str:
        """Look something up.

        Args:
            query: What to look for.
        """
        body.run(query)
        return FOUND

    return look_up


def own_tool(body: Body) -> Any:
    """A tool of a class of the application's own."""

    class LookUp(smolagents.Tool):
        name = "look_up"
        description = "Look something up."
        inputs: Any = {"query": {"type": "string", "description": "What to look for."}}
        output_type = "string"

        def forward(self, query: str) -> str:
            body.run(query)
            return FOUND

    return LookUp()


def using(made: Callable[[Body], Any]) -> Callable[[Body], Any]:
    """An agent that uses a tool once and then repeats what it was told."""

    def using_it(body: Body) -> Any:
        return agent(Own(None, [("look_up", {"query": "tea"})], ""), made(body), max_steps=1)

    return using_it


def managing(body: Body) -> Any:
    """An agent that asks another one, whose model counts, and then repeats what it was told."""
    expert = agent(Own(body, [("final_answer", {"answer": FOUND})]), name="expert")
    return agent(
        Own(None, [("expert", {"task": ASK, "additional_args": {}})], ""), managed_agents=[expert], max_steps=1
    )


def executor(body: Body) -> Any:
    """An executor of code that may call a function."""
    made = _executor.LocalPythonExecutor([])

    def look_up(query: str) -> str:
        body.run(query)
        return FOUND

    made.send_tools({"look_up": look_up})
    return made


def other_code(_arguments: dict[str, Any]) -> dict[str, Any]:
    return {"code": CODE.replace("tea", PLANTED)}


# ------------------------------------------------------------------------------------------------- ways

CODE = "look_up(query='tea')"


def messages() -> Any:
    return [_models.ChatMessage(role=_models.MessageRole.USER, content=[{"type": "text", "text": ASK}])]


def _streamed(made: Any) -> str:
    return "".join(one.content or "" for one in made).strip()


def _last(made: Any) -> str:
    return str(list(made)[-1].output)


def _by_code(made: Any) -> str:
    """What code gets that calls a tool, or what a model is told if it fails."""
    try:
        value = _executor.evaluate_python_code(CODE, static_tools={"look_up": made}, state={})[0]
    except _executor.InterpreterError as error:
        return str(error)
    return str(value)


MODEL_WAYS: dict[str, Use] = {
    "at once": lambda model: model.generate(messages()).content,
    "call": lambda model: model(messages()).content,
    "generate_stream": lambda model: _streamed(model.generate_stream(messages())),
}
AGENT_WAYS: dict[str, Use] = {
    "run": lambda agent: str(agent.run(ASK)),
    "run streaming": lambda agent: _last(agent.run(ASK, stream=True)),
}
DIRECT_WAYS: dict[str, Use] = {
    "call": lambda tool: tool(query="tea"),
    "by position": lambda tool: tool("tea"),
    "forward": lambda tool: tool.forward("tea"),
}
BY_CODE: dict[str, Use] = {"evaluate_python_code": _by_code}
EXECUTOR_WAYS: dict[str, Use] = {"call": lambda executor: str(executor(CODE).output)}
MODEL_STREAMS: dict[str, Use] = {"generate_stream": lambda model: model.generate_stream(messages())}
