"""Functions that Mistral's SDK runs because a model asked for it, and what the model is told of them."""

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from spanhook.cli.conformance.libraries.mistralai_ways import TALK, client
from spanhook.cli.conformance.servers.mistral_server import MistralServer
from spanhook.cli.conformance.servers.openai_replies import Call, Reply
from spanhook.cli.conformance.subject import Body, Subject, Use

SAID = "sunny rome"


@dataclass
class Tooled:
    """A function, sync or async, and a server whose model calls it."""

    function: Any

    @classmethod
    def of(cls, body: Body) -> "Tooled":
        def look_up(city: str) -> str:
            """Look up the weather.

            Args:
                city: Where.
            """
            body.run(city)
            return SAID

        return cls(look_up)

    @property
    def later(self) -> Any:
        function = self.function

        async def look_up(city: str) -> str:
            """Look up the weather.

            Args:
                city: Where.
            """
            return function(city)

        return look_up


def _way(*, stream: bool, later: bool) -> Use:
    async def use(tooled: Tooled) -> Any:
        from mistralai.extra.run.context import RunContext

        with MistralServer() as server:
            server.script(Reply(calls=(Call("look_up", {"city": "rome"}),)), "done")
            conversations = client(server.url).beta.conversations
            async with RunContext(model=TALK["model"], continue_on_fn_error=True) as context:
                register: Any = getattr(context, "register_func")  # noqa: B009 - its types are not known
                register(tooled.later if later else tooled.function)
                if stream:
                    events = await conversations.run_stream_async(context, TALK["inputs"])
                    [_ async for _ in events]
                else:
                    await conversations.run_async(context, TALK["inputs"])
            return server.requests[-1].body["inputs"]

    return use


RUNS: dict[str, Use] = {
    "run": _way(stream=False, later=False),
    "run async function": _way(stream=False, later=True),
    "run stream": _way(stream=True, later=False),
}


def _handler(body: Body) -> Any:
    from mistralai.extra.voice_agents.tools import FunctionHandler

    async def look_up(city: str) -> str:
        """Look up the weather."""
        body.run(city)
        return SAID

    return FunctionHandler(look_up)


def _subjects() -> tuple[Subject, ...]:
    found: list[Subject] = []
    if find_spec("griffe") is not None:
        found.append(
            Subject("mistralai tool", "tool.execute", Tooled.of, RUNS, {}, said=SAID, asked="rome", raises=False)
        )
    if find_spec("mistralai.extra.voice_agents") is not None:
        ways: dict[str, Use] = {"invoke": lambda handler: handler.invoke('{"city": "rome"}')}
        found.append(
            Subject(
                "mistralai voice agent's tool",
                "tool.execute",
                _handler,
                ways,
                {},
                said=SAID,
                asked="rome",
                raises=False,
            )
        )
    return tuple(found)


SUBJECTS = _subjects()
