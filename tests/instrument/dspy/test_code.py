"""Code that models write, and the tools that it calls: ``ProgramOfThought``, ``CodeAct``, ``RLM``, and agents inside."""

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

import spanhook
from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.dspy import dspy
from spanhook.cli.conformance.servers.openai_server import OpenAIServer, Reply
from spanhook.testing import Recorder, recorder

PYTHON = "python_interpreter"


def nested(seen: Recorder) -> list[tuple[str, str]]:
    """The name of each span, and of the one that it is inside of."""
    names = {span.context.span_id: span.name for span in seen.spans if span.context is not None}
    return sorted((span.name, names[span.parent.span_id] if span.parent is not None else "") for span in seen.spans)


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as running:
        yield running


@pytest.fixture
def lm(server: OpenAIServer) -> Any:
    return dspy.LM("openai/gpt-4o-mini", api_base=server.url, api_key="test", num_retries=0, cache=False)


def said(**fields: Any) -> Reply:
    """An answer with these fields, as DSPy's chat format has them."""
    text = "\n\n".join(f"[[ ## {name} ## ]]\n{value}" for name, value in fields.items())
    return Reply(text=f"{text}\n\n[[ ## completed ## ]]")


class Interpreter:
    """Runs code in this process, with the tools that it was given, as an interpreter of the application's own."""

    def __init__(self, tools: Any = None, **_given: Any) -> None:
        self.tools: dict[str, Any] = dict(tools or {})
        self.ran: list[str] = []
        self.known: dict[str, Any] = {}

    def start(self) -> None:
        """It is always there."""

    def shutdown(self) -> None:
        """It is always there."""

    def execute(self, code: str, variables: Any = None) -> Any:
        self.ran.append(code)
        self.known.update({**self.tools, **(variables or {})})
        exec(code, self.known)
        return self.known.get("answer")

    __call__ = execute


def made(module: Any, *args: Any, **given: Any) -> tuple[Any, Interpreter]:
    """A module with this interpreter, however its version takes it."""
    interpreter = Interpreter()
    if hasattr(dspy, "RLM"):
        return module(*args, **given, interpreter_factory=lambda: interpreter), interpreter
    program = module(*args, **given)
    program.interpreter = interpreter
    return program, interpreter


def double(n: int) -> int:
    """Double it."""
    return 2 * n


def thinking(server: OpenAIServer) -> tuple[Any, Interpreter]:
    code, output = "answer = 6 * 7", {"reasoning": "So.", "answer": "42"}
    server.script(said(reasoning="So.", generated_code=code), said(**output))
    return made(dspy.ProgramOfThought, "question -> answer", max_iters=1)


def acting(server: OpenAIServer) -> tuple[Any, Interpreter]:
    code = "answer = double(21)"
    server.script(said(generated_code=code, finished="True"), said(reasoning="So.", answer="42"))
    return made(dspy.CodeAct, "question -> answer", tools=[double], max_iters=1)


both = pytest.mark.parametrize("make", [thinking, acting])


@both
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_code_that_a_model_writes_is_a_tool(make: Any, server: OpenAIServer, lm: Any) -> None:
    program, interpreter = make(server)
    codes: list[Any] = []
    hooks = Hooks()
    hooks.after("tool.execute", names={PYTHON})(lambda op: codes.append((op.request.arguments, op.response.text)))
    with recorder(hooks) as seen, dspy.context(lm=lm):
        assert program(question="6 * 7?").answer == "42"
    assert (f"execute_tool {PYTHON}", f"invoke_agent {type(program).__name__}") in nested(seen)
    assert [output for _, output in codes] == ["42"]
    assert codes[0][0]["code"] == interpreter.ran[-1]


@both
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_refused_code_is_not_run_and_the_model_is_told(make: Any, server: OpenAIServer, lm: Any) -> None:
    program, interpreter = make(server)
    hooks = Hooks()

    @hooks.before("tool.execute", names={PYTHON})
    def refuse(_op: Operation) -> None:
        raise Reject("Not today")

    spanhook.instrument(hooks)
    with dspy.context(lm=lm):
        if make is thinking:  # without other attempts, it gives up
            with pytest.raises(RuntimeError, match="Not today"):
                program(question="6 * 7?")
        else:
            program(question="6 * 7?")
            assert "Tool call rejected: Not today" in json.dumps(server.requests[-1].body)
    assert not [code for code in interpreter.ran if "answer" in code]


@both
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_code_can_be_rewritten_and_answered(make: Any, server: OpenAIServer, lm: Any) -> None:
    program, interpreter = make(server)
    rewriting, answering = Hooks(), Hooks()
    rewriting.before("tool.execute")(lambda op: op.replace(arguments={"code": "answer = 1"}))
    answering.before("tool.execute")(lambda op: op.respond("An answer."))
    with dspy.context(lm=lm):
        spanhook.instrument(rewriting)
        program(question="6 * 7?")
        assert interpreter.ran[-1] == "answer = 1"
        spanhook.uninstrument()
        program, interpreter = make(server)
        spanhook.instrument(answering)
        program(question="6 * 7?")
    assert not [code for code in interpreter.ran if "answer" in code]
    assert "An answer." in json.dumps(server.requests[-1].body)


# ------------------------------------------------------------------------------------------------- newer versions

newer = pytest.mark.skipif(not hasattr(dspy, "RLM"), reason="this version of DSPy has no RLM")


def looking_up(server: OpenAIServer, calls: list[int], interpreter: Any) -> Any:
    def look_up(n: int) -> int:
        """Look it up."""
        calls.append(n)
        return 42

    server.script(said(reasoning="So.", code="found = look_up(n=6)\nSUBMIT(answer=str(found))"))
    return dspy.RLM("question -> answer", tools=[look_up], max_iters=2, interpreter_factory=interpreter)


def local() -> Any:
    from dspy.primitives.local_interpreter import LocalInterpreter  # pyright: ignore[reportMissingImports]

    return LocalInterpreter()


@newer
def test_tools_that_code_calls_are_inside_of_it(server: OpenAIServer, lm: Any) -> None:
    calls: list[int] = []
    with recorder(Hooks()) as seen, dspy.context(lm=lm):
        assert looking_up(server, calls, local)(question="6?").answer == "42"
    assert calls == [6]
    assert nested(seen) == [
        ("chat gpt-4o-mini", "invoke_agent RLM"),
        ("execute_tool look_up", f"execute_tool {PYTHON}"),
        (f"execute_tool {PYTHON}", "invoke_agent RLM"),
        ("invoke_agent RLM", ""),
    ]


@newer
@pytest.mark.parametrize("name", ["look_up", PYTHON])
def test_the_model_is_told_of_a_refused_tool_or_code(name: str, server: OpenAIServer, lm: Any) -> None:
    calls: list[int] = []
    hooks = Hooks()

    @hooks.before("tool.execute", names={name})
    def refuse(_op: Operation) -> None:
        raise Reject("Not today")

    spanhook.instrument(hooks)
    with dspy.context(lm=lm):
        program = looking_up(server, calls, local)
        server.script(said(reasoning="So.", code="SUBMIT(answer='none')"), said(answer="none"))
        assert program(question="6?").answer == "none"
    assert calls == []
    assert "Not today" in json.dumps(server.requests[1].body)


@newer
def test_an_agent_inside_of_a_program_is_one_of_its_own(server: OpenAIServer, lm: Any) -> None:
    class Asking(dspy.Module):
        def __init__(self) -> None:
            super().__init__()  # pyright: ignore[reportUnknownMemberType]
            self.agent = dspy.ReActV2("question -> answer", tools=[double])

        def forward(self, question: str) -> Any:
            return self.agent(question=question)

    server.reply = Reply(text="42")
    # what it makes of such answers is its own affair
    with recorder(Hooks()) as seen, dspy.context(lm=lm), suppress(Exception):
        Asking()(question="6 * 7?")
    assert ("invoke_agent ReActV2", "invoke_agent Asking") in nested(seen)


# ------------------------------------------------------------------------------------------------- code that is kept

flexible = pytest.mark.skipif(not hasattr(dspy, "Flex"), reason="this version of DSPy has no Flex")
SOURCE = """
class Written(dspy.Module):
    def forward(self, question):
        return dspy.Prediction(answer=str(look_up(n=6)))
"""


def written(calls: list[int], make: Any) -> Any:
    def look_up(n: int) -> int:
        """Look it up."""
        calls.append(n)
        return 42

    program = dspy.Flex("question -> answer", tools=[make(look_up)], interpreter_factory=local)
    program._bind_code(SOURCE)
    return program


@flexible
@pytest.mark.parametrize("make", [lambda function: function, dspy.Tool], ids=["function", "Tool"])
def test_a_program_that_a_model_has_written_is_code_and_its_tools_are_inside_of_it(make: Any) -> None:
    calls: list[int] = []
    with recorder(Hooks()) as seen:
        assert written(calls, make)(question="6?").answer == "42"
    assert calls == [6]
    assert nested(seen) == [
        ("execute_tool look_up", f"execute_tool {PYTHON}"),
        (f"execute_tool {PYTHON}", "invoke_agent Flex"),
        ("invoke_agent Flex", ""),
    ]


@flexible
@pytest.mark.parametrize("name", ["look_up", PYTHON])
def test_what_it_calls_is_refused(name: str) -> None:
    calls: list[int] = []
    hooks = Hooks()

    @hooks.before("tool.execute", names={name})
    def refuse(_op: Operation) -> None:
        raise Reject("Not today")

    spanhook.instrument(hooks)
    with pytest.raises(Exception, match="Not today"):
        written(calls, lambda function: function)(question="6?")
    assert calls == []


@flexible
def test_a_program_that_a_model_has_written_is_answered() -> None:
    hooks, calls = Hooks(), list[int]()
    hooks.before("tool.execute", names={PYTHON})(lambda op: op.respond({"answer": "none"}))
    spanhook.instrument(hooks)
    assert written(calls, dspy.Tool)(question="6?").answer == "none"
    assert calls == []
