"""Tools: every sort of them, what hooks see and answer, failures; what the library reads of a tool's class."""

import copy
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.smolagents_ways import (
    ASK,
    FOUND,
    CodeAgent,
    Own,
    agent,
    code,
    own_tool,
    smolagents,
    tool,
    using,
)
from spanhook.cli.conformance.subject import RAISED, Body, Broken
from spanhook.settings import Settings
from spanhook.testing import recorder

tools: Any = import_module("smolagents.tools")
MAKES = pytest.mark.parametrize("make", [tool, own_tool])


def watching() -> tuple[Hooks, list[Any]]:
    hooks, seen = Hooks(), list[Any]()

    @hooks.before("tool.execute", names={"look_up"})
    def look(op: Operation) -> None:
        seen.append(op.request.arguments)

    return hooks, seen


@MAKES
def test_arguments_have_their_names_however_they_are_passed(make: Any) -> None:
    hooks, seen = watching()
    made = make(Body())
    with recorder(hooks) as recorded:
        made("tea")
        made(query="tea")
        made({"query": "tea"})
        made.forward("tea")
        made.forward(query="tea")
        made("tea", sanitize_inputs_outputs=True)
    assert seen == [{"query": "tea"}] * 6
    attributes = recorded.spans[0].attributes or {}
    assert attributes["gen_ai.tool.description"] == "Look something up."


def test_arguments_are_in_the_order_of_the_function_not_of_its_description() -> None:
    class Pay(smolagents.Tool):
        name = "pay"
        description = "Pays."
        inputs: Any = {
            "to": {"type": "string", "description": "Whom."},
            "amount": {"type": "integer", "description": "How much."},
        }
        output_type = "string"

        def forward(self, amount: int, to: str) -> str:
            return f"{amount} to {to}"

    hooks, seen = Hooks(), list[Any]()
    hooks.before("tool.execute")(lambda op: seen.append(op.request.arguments))
    with recorder(hooks):
        assert Pay()(20, "Ann") == "20 to Ann"
    assert seen == [{"amount": 20, "to": "Ann"}]


@pytest.mark.parametrize("call", [lambda made: made("tea"), lambda made: made.forward("tea")])
@MAKES
def test_rewritten_arguments_arrive(make: Any, call: Any) -> None:
    body, hooks = Body(), Hooks()
    hooks.before("tool.execute")(lambda op: op.replace(arguments={"query": "coffee"}))
    with recorder(hooks) as seen:
        assert call(make(body)) == FOUND
    assert body.seen == ["coffee"]
    assert len(seen.spans) == 1


@MAKES
def test_an_answer_has_the_type_of_a_result(make: Any) -> None:
    body, hooks = Body(), Hooks()

    @hooks.around("tool.execute")
    def reply(op: Operation) -> Any:
        return "tea"
        yield

    made = make(body)
    with recorder(hooks):
        plain, sanitized = made("x"), made("x", sanitize_inputs_outputs=True)
    without = make(Body())("x", sanitize_inputs_outputs=True)
    assert (plain, str(sanitized), type(sanitized)) == ("tea", "tea", type(without))
    assert body.runs == 0


@MAKES
def test_a_tool_that_fails_is_an_error_and_raises_the_same(make: Any) -> None:
    failed, hooks = list[Any](), Hooks()

    @hooks.on_error("tool.execute")
    def note(op: Operation) -> None:
        failed.append(op.name)

    made = using(make)(Body(fault=RAISED))
    without = made.run(ASK)
    made.model.calls = 0
    with recorder(hooks) as seen:
        assert made.run(ASK) == without
        with pytest.raises(Broken):
            make(Body(fault=RAISED))("tea")
    assert failed == ["look_up", "look_up"]
    assert (seen.spans[1].attributes or {})["spanhook.status"] == "error"


@MAKES
def test_a_result_that_is_refused_is_not_told(make: Any) -> None:
    body, hooks = Body(), Hooks()

    @hooks.after("tool.execute")
    def refuse(op: Operation) -> None:
        raise Reject("not for you")

    with recorder(hooks):
        said = using(make)(body).run(ASK)
    assert body.runs == 1
    assert FOUND not in said
    assert "not for you" in said


def test_tools_that_tools_call_are_gated() -> None:
    body, hooks = Body(), Hooks()
    inner = tool(body)

    class Outer(smolagents.Tool):
        name = "outer"
        description = "Calls another one."
        inputs: Any = {"query": {"type": "string", "description": "What to look for."}}
        output_type = "string"

        def forward(self, query: str) -> str:
            return str(inner.forward(query))

    @hooks.before("tool.execute", names={"look_up"})
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    with recorder(hooks) as seen, pytest.raises(Reject):
        Outer()("tea")
    assert [span.name for span in seen.spans] == ["execute_tool look_up", "execute_tool outer"]
    assert body.runs == 0


def test_a_tool_whose_class_overrides_the_call_is_one_call() -> None:
    base: Any = type(own_tool(Body()))

    class Loud(base):
        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return super().__call__(*args, **kwargs)

    hooks, seen = watching()
    with recorder(hooks) as recorded:
        assert Loud()("tea") == FOUND
    assert seen == [{"query": "tea"}]
    assert [span.name for span in recorded.spans] == ["execute_tool look_up"]


class Count(smolagents.Tool):
    """Calls itself for what is left."""

    name = "count"
    description = "Counts."
    inputs: Any = {"down": {"type": "integer", "description": "From where."}}
    output_type = "string"

    def forward(self, down: int) -> str:
        return f"{down} {self.forward(down - 1)}" if down else "0"


@pytest.mark.parametrize("call", [lambda made: made(3), lambda made: made.forward(3)])
def test_a_tool_that_calls_itself_with_other_arguments_is_asked_for_each(call: Any) -> None:
    hooks, seen = Hooks(), list[Any]()

    @hooks.before("tool.execute")
    def refuse(op: Operation) -> None:
        seen.append(op.request.arguments["down"])
        if seen[-1] == 1:
            raise Reject("not that one")

    with recorder(hooks) as recorded, pytest.raises(Reject):
        call(Count())
    assert seen == [3, 2, 1]
    assert [span.name for span in recorded.spans] == ["execute_tool count"] * 3


@pytest.mark.parametrize("answer", ["tea", "image"])
def test_what_the_library_takes_its_own_types_off_is_the_same_call(answer: str) -> None:
    kinds: Any = import_module("smolagents.agent_types")
    image: Any = import_module("PIL.Image").new("RGB", (2, 2))
    given = kinds.AgentText("tea") if answer == "tea" else kinds.AgentImage(image)
    got, hooks = list[Any](), Hooks()

    class Look(smolagents.Tool):
        name = "look"
        description = "Looks."
        inputs: Any = {"what": {"type": "any", "description": "What."}}
        output_type = "string"

        def forward(self, what: Any) -> str:
            got.append(what)
            return FOUND

    hooks.before("tool.execute")(lambda op: None)
    with recorder(hooks) as seen:
        Look()(given, sanitize_inputs_outputs=True)
        Look()(what=given)
    assert [span.name for span in seen.spans] == ["execute_tool look"] * 2
    assert got[0] is given.to_raw()
    assert got[1] is given


def base_tool(body: Body) -> Any:
    """A tool that is none of the library's, but for its base class."""

    class Bare(tools.BaseTool):
        name = "look_up"
        inputs: Any = {"query": {"type": "string", "description": "What to look for."}}
        description, output_type = "Look something up.", "string"

        def __call__(self, query: str, /, **given: Any) -> str:
            body.run(query)
            return FOUND

        def to_tool_calling_prompt(self) -> str:
            return self.name

    return Bare()


class Named(getattr(tools, "BaseTool", smolagents.Tool)):
    """One that has nothing but a name."""

    name = "look_up"

    def __call__(self, query: str, **_given: Any) -> str:
        return f"found {query}"


needs_base = pytest.mark.skipif(not hasattr(tools, "BaseTool"), reason="older versions of smolagents take a Tool only")


@needs_base
def test_a_tool_that_is_no_tool_of_the_librarys_is_gated() -> None:
    body, hooks = Body(), Hooks()
    by_place: Any = [("look_up", "tea")]

    @hooks.before("tool.execute", names={"look_up"})
    def refuse(op: Operation) -> None:
        assert op.request.arguments == {"query": "tea"}
        raise Reject("not today")

    with recorder(hooks) as seen:
        said = agent(Own(None, by_place, ""), base_tool(body), max_steps=1).run(ASK)
        with pytest.raises(Reject):
            Named()("tea")
        with pytest.raises(Reject):
            Named()(query="tea", sanitize_inputs_outputs=True)
    assert "not today" in said
    assert body.runs == 0
    assert [span.name for span in seen.spans if "tool" in span.name] == ["execute_tool look_up"] * 3


@needs_base
def test_such_a_tool_is_rewritten_and_answered_for() -> None:
    body, hooks = Body(), Hooks()

    @hooks.around("tool.execute")
    def change(op: Operation) -> Any:
        if op.request.arguments["query"] == "water":
            return "wet"
        op.replace(arguments={"query": "coffee"})
        yield

    with recorder(hooks):
        assert base_tool(body)("tea") == FOUND
        assert Named()("tea") == Named()(query="tea") == "found coffee"
        assert str(Named()("water", sanitize_inputs_outputs=True)) == "wet"
    assert body.seen == ["coffee"]
    assert Named()("tea") == "found tea"


@needs_base
def test_a_tool_of_the_librarys_is_not_bound_twice() -> None:
    class Later(Whisper):
        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return super().__call__(*args, **kwargs)

    before = vars(Later)["__call__"]
    with recorder(Hooks()) as seen:

        class Latest(Later):
            def __call__(self, *args: Any, **kwargs: Any) -> Any:
                return super().__call__(*args, **kwargs)

        assert Latest()("TEA") == Later()("TEA") == "tea"
    assert [span.name for span in seen.spans] == ["execute_tool whisper"] * 2
    assert vars(Later)["__call__"] is before
    assert not hasattr(vars(Latest)["__call__"], "__wrapped__")


SERVER = '''
try:
    from mcp.server.mcpserver import MCPServer
except ImportError:  # version 1 of the SDK
    from mcp.server.fastmcp import FastMCP as MCPServer

server = MCPServer("leaves")


@server.tool(name="look-up")
def look_up(query: str) -> str:
    """Look something up."""
    return "found leaves everywhere"


server.run()
'''


def test_a_tool_of_an_mcp_server_is_one_call_whatever_its_name_there(tmp_path: Path) -> None:
    pytest.importorskip("mcpadapt", reason="MCP is tried with the newest version of smolagents")
    (tmp_path / "server.py").write_text(SERVER)
    stdio: Any = import_module("mcp.client.stdio")
    command = stdio.StdioServerParameters(command=sys.executable, args=[str(tmp_path / "server.py")])
    hooks, seen = Hooks(), list[Any]()
    for name in ("look_up", "look-up"):
        hooks.before("tool.execute", names={name})(lambda op: seen.append((op.name, op.request.arguments)))
    with recorder(hooks) as recorded, smolagents.MCPClient(command) as (made,):
        assert made(query="tea") == FOUND
        assert str(made({"query": "tea"}, sanitize_inputs_outputs=True)) == FOUND
    assert seen == [("look_up", {"query": "tea"})] * 4
    assert [span.name for span in recorded.spans if "tool" in span.name] == ["execute_tool look_up"] * 2


def test_the_last_answer_is_a_tool() -> None:
    hooks = Hooks()

    @hooks.before("tool.execute", names={"final_answer"})
    def refuse(op: Operation) -> None:
        raise Reject("not yet")

    turns = [("final_answer", {"answer": "42"})], "given up"
    made = agent(Own(None, *turns), max_steps=1)
    with recorder(hooks):
        assert made.run(ASK) == "given up"
    assert "not yet" in made.memory.steps[1].error.message


@pytest.mark.parametrize(
    "wild", ["look_up('tea')", "look_up.forward('tea')", "f = look_up\nf('tea')", "[q for q in map(look_up, ['tea'])]"]
)
def test_code_finds_no_way_around(wild: str) -> None:
    body, hooks = Body(), Hooks()

    @hooks.before("tool.execute", names={"look_up"})
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    with recorder(hooks):
        agent(Own(None, code(wild), "given up"), tool(body), kind=CodeAgent, max_steps=1).run(ASK)
    assert body.runs == 0


def _alone() -> Any:
    @smolagents.tool
    def shout(text: str) -> str:
        """Shouts.

        Args:
            text: What.
        """
        return text.upper()

    return shout


class Whisper(smolagents.Tool):
    """Whispers."""

    name = "whisper"
    description = "Whispers."
    inputs: Any = {"text": {"type": "string", "description": "What."}}
    output_type = "string"

    def forward(self, text: str) -> str:
        return text.lower()


@pytest.mark.parametrize("make", [_alone, Whisper])
def test_what_the_library_reads_of_a_tool_is_the_same(make: Any, tmp_path: Path) -> None:
    def read(folder: str) -> list[Any]:
        made = make()
        made.save(str(tmp_path / folder))
        sources = {path.name: path.read_text() for path in sorted((tmp_path / folder).glob("*.py"))}
        helper = agent(Own(), made, kind=CodeAgent)
        return [made.to_dict(), sources, helper.system_prompt, helper.to_dict(), copy.deepcopy(made)("Tea")]

    without = read("without")
    with recorder(Hooks()):
        assert read("with") == without
    assert read("after") == without


class Draw(smolagents.Tool):
    """Gives an image, of which the library makes a file whenever it is made a text."""

    name = "draw"
    description = "Draws."
    inputs: Any = {}
    output_type = "image"

    def forward(self) -> Any:
        image: Any = import_module("PIL.Image")
        return image.new("RGB", (2, 2))


def test_an_image_is_shown_to_hooks_by_its_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def files(name: str) -> int:
        folder = tmp_path / name
        folder.mkdir()
        monkeypatch.setattr("tempfile.tempdir", str(folder))
        turns: Any = [("draw", {})], [("final_answer", {"answer": "image.png"})]
        assert agent(Own(None, *turns), Draw()).run(ASK).to_raw().size == (2, 2)
        return len(list(folder.iterdir()))

    seen, hooks = list[str](), Hooks()
    hooks.after("tool.execute", names={"draw"})(lambda op: seen.append(op.response.text))
    hooks.after("agent.invoke")(lambda op: seen.append(op.response.text))
    without = files("without")
    with recorder(hooks, settings=Settings(content="SPAN_ONLY")):
        assert files("with") == without
    assert seen == ["<AgentImage>", "<AgentImage>"]
