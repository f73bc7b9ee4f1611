"""Runners, agents, models and tools of Google's ADK, made so that they count, and every way of calling them."""

import asyncio
import json
import warnings
from collections.abc import AsyncIterator, Callable
from functools import cache
from importlib import import_module
from typing import Any

from spanhook.cli.conformance.servers.google_server import GoogleServer
from spanhook.cli.conformance.servers.openai_server import Reply, Tokens
from spanhook.cli.conformance.servers.requests import Line
from spanhook.cli.conformance.subject import Body, Use

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    agents: Any = import_module("google.adk.agents")  # it is not in the environment that types are checked in
    tools: Any = import_module("google.adk.tools")
    executors: Any = import_module("google.adk.code_executors.base_code_executor")
    execution: Any = import_module("google.adk.code_executors.code_execution_utils")
    _artifacts: Any = import_module("google.adk.artifacts")
    _models: Any = import_module("google.adk.models")
    _config: Any = import_module("google.adk.agents.run_config")
    _runners: Any = import_module("google.adk.runners")
    _sessions: Any = import_module("google.adk.sessions")
    types: Any = import_module("google.genai.types")
BaseLlm, LlmRequest, LlmResponse = _models.BaseLlm, _models.LlmRequest, _models.LlmResponse
Runner, RunConfig = _runners.Runner, _config.RunConfig

ASK = "Say hello."
FOUND = "found leaves everywhere"
"""What the tools of these agents return."""
USER, SESSION = "u-1", "s-1"
Turn = str | tuple[str, dict[str, Any]]
"""What a scripted model says: text, or a tool and its arguments."""


def content(text: str, role: str = "user") -> Any:
    return types.Content(role=role, parts=[types.Part(text=text)])


class Own(BaseLlm):
    """A model of the application's own, in turns; an empty one repeats what a tool told it.

    Attributes:
        body: What its calls are runs of.
        turns: What it says, one after the other; the last one from then on.
    """

    model: str = "own"
    body: Any = None
    turns: Any = ()

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> AsyncIterator[Any]:
        if self.body is not None:
            self.body.run(llm_request.contents, Tokens().total)
        turns = self.turns or (Reply.text,)
        said = turns[min(_turn(llm_request.contents), len(turns) - 1)]
        await asyncio.sleep(0)
        for response in responses(_told(llm_request) if said == "" else said, stream, counts=self.body is not None):
            yield response


def own(body: Body | None = None, *turns: Turn) -> Any:
    return Own(body=body, turns=turns)


_TOLD = ("For context:", "```tool_output")
"""What texts begin with that are in a user's name, but not a user's."""


def _turn(contents: Any) -> int:
    """How often the model has answered since the user asked last."""
    turn = 0
    for one in reversed(contents):
        texts = [part.text for part in one.parts if part.text]
        if one.role == "user" and texts and not texts[0].startswith(_TOLD):
            break
        turn += one.role == "model"
    return turn


def _told(request: Any) -> str:
    """What the model was last told by a tool."""
    (told,) = (one.function_response.response for one in request.contents[-1].parts if one.function_response)
    (only,) = told.values()
    return only if isinstance(only, str) else json.dumps(only)


def responses(said: Turn, stream: bool, *, counts: bool = True) -> list[Any]:
    """What a model yields that says this."""
    tokens = Tokens() if counts else Tokens(0, 0)
    used = types.GenerateContentResponseUsageMetadata(
        prompt_token_count=tokens.input, candidates_token_count=tokens.output, total_token_count=tokens.total
    )
    whole = {"finish_reason": types.FinishReason.STOP, "usage_metadata": used}
    if not isinstance(said, str):
        called = types.Part(function_call=types.FunctionCall(id=f"call_{said[0]}", name=said[0], args=said[1]))
        return [LlmResponse(content=types.Content(role="model", parts=[called]), partial=False, **whole)]
    words = [f" {word}" if place else word for place, word in enumerate(said.split(" "))] if stream else []
    pieces = [LlmResponse(content=content(word, "model"), partial=True) for word in words]
    return [*pieces, LlmResponse(content=content(said, "model"), partial=False, **whole)]


@cache
def google() -> GoogleServer:
    return GoogleServer().__enter__()


def gemini_at(url: str, model: str = "gemini-2.5-flash") -> Any:
    """A model of the Gemini API, which is that of the server at ``url``."""
    from spanhook.cli.conformance.libraries.google_genai_ways import client

    made = client(url)
    kind = type("Gemini", (_models.Gemini,), {"api_client": property(lambda _self: made)})
    return kind(model=model)


def gemini(body: Body) -> Any:
    """A model behind HTTP, whose requests are the runs of the body."""
    return gemini_at(google().url_for(Line(body, lambda _seen: Tokens().total)))


# ------------------------------------------------------------------------------------------------- agents


def agent(model: Any, *given: Any, name: str = "helper", **more: Any) -> Any:
    return agents.LlmAgent(name=name, model=model, tools=[*given], instruction="Be brief.", **more)


def runner(root: Any, **given: Any) -> Any:
    """A runner of an agent, whose sessions are in memory."""
    sessions = _sessions.InMemorySessionService()
    artifacts = _artifacts.InMemoryArtifactService()
    given = {"session_service": sessions, "artifact_service": artifacts, "auto_create_session": True, **given}
    return Runner(app_name="app", agent=root, **given)


def asking(body: Body) -> Any:
    return runner(agent(own(body)))


def gemini_agent(body: Body) -> Any:
    return runner(agent(gemini(body)))


def tool(body: Body) -> Any:
    def look_up(query: str) -> str:
        """Look something up."""
        body.run(query)
        return FOUND

    return look_up


def async_tool(body: Body) -> Any:
    async def look_up(query: str) -> str:
        """Look something up."""
        await asyncio.sleep(0)
        body.run(query)
        return FOUND

    return look_up


def function_tool(body: Body) -> Any:
    return tools.FunctionTool(tool(body))


def own_tool(body: Body) -> Any:
    """A tool of a class of the application's own."""

    class LookUp(tools.BaseTool):
        def _get_declaration(self) -> Any:
            query = types.Schema(type="STRING")
            return types.FunctionDeclaration(
                name=self.name, parameters=types.Schema(type="OBJECT", properties={"query": query})
            )

        async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> Any:
            del tool_context
            await asyncio.sleep(0)
            body.run(args["query"])
            return FOUND

    return LookUp(name="look_up", description="Look something up.")


def using(make: Callable[[Body], Any]) -> Callable[[Body], Any]:
    """A runner of an agent that uses a tool once and then repeats what it was told."""

    def using_it(body: Body) -> Any:
        return runner(agent(own(None, ("look_up", {"query": "tea"}), ""), make(body)))

    return using_it


def handing_off(body: Body) -> Any:
    """An agent that hands off to another, whose model counts."""
    turns: tuple[Turn, ...] = ("transfer_to_agent", {"agent_name": "second"}), "done"
    return runner(agent(own(None, *turns), name="first", sub_agents=[agent(own(body), name="second")]))


def sub_agents(body: Body) -> Any:
    """An agent that runs others one after the other, of which the second counts."""
    children = [agent(own(), name="first"), agent(own(body), name="second")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return runner(agents.SequentialAgent(name="both", sub_agents=children))


def executor(body: Body) -> Any:
    """An executor of code of the application's own."""

    class Executor(executors.BaseCodeExecutor):
        def execute_code(self, invocation_context: Any, code_execution_input: Any) -> Any:
            del invocation_context
            body.run(code_execution_input.code)
            return execution.CodeExecutionResult(stdout=FOUND)

    return Executor()


def coding(body: Body) -> Any:
    """An agent whose model writes code once."""
    return runner(agent(own(None, "```python\nprint('tea')\n```", "done"), code_executor=executor(body)))


# ------------------------------------------------------------------------------------------------- ways


def request(text: str = ASK) -> Any:
    return LlmRequest(model="own", contents=[content(text)])


def said(event: Any) -> str:
    """The text of an event or a response."""
    parts = (event.content.parts or ()) if event.content else ()
    return "".join(one.text for one in parts if one.text and not one.thought)


async def _model(made: Any) -> Any:
    return "".join([said(one) async for one in made])


async def _fragments(made: Any) -> Any:
    """What the fragments of a stream say, which the last response says again."""
    found = [one async for one in made]
    pieces = "".join(said(one) for one in found if one.partial)
    return pieces or said(found[-1])


def last(events: Any) -> Any:
    """What was said last in a run."""
    found = [said(one) for one in events if not one.partial and said(one)]
    return found[-1] if found else ""


def asked(text: str = ASK, **given: Any) -> dict[str, Any]:
    return {"user_id": USER, "session_id": SESSION, "new_message": content(text), **given}


async def _run(made: Any) -> Any:
    return last([one async for one in made])


def streaming() -> Any:
    return RunConfig(streaming_mode=_config.StreamingMode.SSE)


async def alone(root: Any) -> Any:
    """Run an agent without the method of its runner."""
    made = runner(root)
    session = await made.session_service.create_session(app_name="app", user_id=USER, session_id=SESSION)
    context = made._new_invocation_context(session, new_message=content(ASK), run_config=RunConfig())
    context.agent = root
    return await _run(root.run_async(context))


def context_of(call_id: str = "") -> Any:
    """The context of a tool's call."""
    root = agent(own())
    made = runner(root)
    session = _sessions.Session(id=SESSION, app_name="app", user_id=USER)
    found = made._new_invocation_context(session, new_message=content(ASK), run_config=RunConfig())
    found.agent = root
    return tools.ToolContext(found, function_call_id=call_id or None)


MODEL_WAYS: dict[str, Use] = {
    "generate": lambda model: _model(model.generate_content_async(request())),
    "stream": lambda model: _fragments(model.generate_content_async(request(), stream=True)),
}
MODEL_STREAMS: dict[str, Use] = {"stream": lambda model: model.generate_content_async(request(), stream=True)}
RUN_WAYS: dict[str, Use] = {
    "run_async": lambda made: _run(made.run_async(**asked())),
    "run_async, streaming": lambda made: _run(made.run_async(**asked(run_config=streaming()))),
}
TELLS = "agent_error" in Runner.run.__code__.co_varnames
"""Whether ``Runner.run`` raises what its thread has raised: older versions end as if nothing had happened."""
THREAD_WAYS: dict[str, Use] = {"run": lambda made: last(made.run(**asked()))} if TELLS else {}
AGENT_WAYS: dict[str, Use] = {"run_async of an agent": lambda made: alone(made.agent)}
DIRECT_WAYS: dict[str, Use] = {
    "direct": lambda made: made.run_async(args={"query": "tea"}, tool_context=context_of()),
}
EXECUTOR_WAYS: dict[str, Use] = {
    "execute_code": lambda made: made.execute_code(None, execution.CodeExecutionInput(code="print('tea')")).stdout,
}
