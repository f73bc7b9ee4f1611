"""Code that models write: what hooks see of it and answer, threads, executors, ways around."""

from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.smolagents_ways import (
    ASK,
    CODE,
    FOUND,
    CodeAgent,
    Own,
    agent,
    code,
    executor,
    smolagents,
    tool,
)
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder

local: Any = smolagents.local_python_executor


def coding(*turns: str, tools: Any = (), **given: Any) -> Any:
    return agent(Own(None, *map(code, turns)), *tools, kind=CodeAgent, **given)


def test_what_a_hook_sees_of_code() -> None:
    seen, hooks = list[Any](), Hooks()

    @hooks.before("tool.execute", names={"python_interpreter"})
    def look(op: Operation) -> None:
        seen.append(op.request.arguments)

    @hooks.after("tool.execute", names={"python_interpreter"})
    def said(op: Operation) -> None:
        seen.append(op.response.text)

    with recorder(hooks):
        coding("print('a')\n1 + 1", "final_answer(2)").run(ASK)
    assert [one["code"] for one in seen if isinstance(one, dict)] == ["print('a')\n1 + 1", "final_answer(2)"]


def test_rewritten_code_is_executed() -> None:
    body, hooks = Body(), Hooks()
    hooks.before("tool.execute")(lambda op: op.replace(arguments={"code": CODE.replace("tea", "coffee")}))
    with recorder(hooks):
        assert executor(body)(CODE).output == FOUND
    assert body.seen == ["coffee"]


def test_an_answer_is_what_the_code_would_give() -> None:
    body, hooks = Body(), Hooks()

    @hooks.around("tool.execute", names={"python_interpreter"})
    def answer(op: Operation) -> Any:
        return local.CodeOutput(output=42, logs="", is_final_answer=True)
        yield

    with recorder(hooks):
        assert coding("final_answer(look_up('tea'))", tools=[tool(body)]).run(ASK) == 42
    assert body.runs == 0


def test_the_model_is_told_of_refused_code() -> None:
    hooks, calls = Hooks(), list[str]()

    @hooks.before("tool.execute", names={"python_interpreter"})
    def refuse(op: Operation) -> None:
        calls.append(op.request.arguments["code"])
        if "os" in calls[-1]:
            raise Reject("nothing of the operating system")

    made = coding("import os", "final_answer('done')")
    with recorder(hooks):
        assert made.run(ASK) == "done"
    error = made.memory.steps[1].error
    assert (type(error).__name__, error.message) == ("AgentExecutionError", "nothing of the operating system")


def test_a_refused_tool_may_be_handled_by_the_code_itself() -> None:
    body, hooks = Body(), Hooks()

    @hooks.before("tool.execute", names={"look_up"})
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    handled = (
        "try:\n    found = look_up('tea')\nexcept Exception as error:\n    found = str(error)\nfinal_answer(found)"
    )
    with recorder(hooks):
        assert "not today" in coding(handled, tools=[tool(body)]).run(ASK)
    assert body.runs == 0


def test_code_does_not_catch_a_rejection_of_the_run() -> None:
    body, hooks = Body(), Hooks()

    @hooks.before("tool.execute", names={"look_up"})
    def refuse(op: Operation) -> None:
        raise Reject("enough", scope="run")

    caught = "try:\n    look_up('tea')\nexcept:\n    pass\nlook_up('coffee')\nfinal_answer('got away')"
    with recorder(hooks), pytest.raises(Reject, match="enough"):
        coding(caught, tools=[tool(body)]).run(ASK)
    assert body.runs == 0


def test_an_executor_of_ones_own_is_gated() -> None:
    class Own(local.PythonExecutor):
        def __init__(self) -> None:
            self.codes = list[str]()

        def send_tools(self, tools: Any) -> None:
            del tools

        def send_variables(self, variables: Any) -> None:
            del variables

        def __call__(self, code_action: str) -> Any:
            self.codes.append(code_action)
            return local.CodeOutput(output=1, logs="", is_final_answer=True)

    made, hooks = Own(), Hooks()

    @hooks.before("tool.execute", names={"python_interpreter"})
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    with recorder(hooks), pytest.raises(Reject):
        made("1")
    assert made.codes == []
    with recorder(Hooks()):
        assert made("1").output == 1


def test_the_interpreter_as_a_tool_is_one_call() -> None:
    with recorder(Hooks()) as seen:
        assert "4" in smolagents.PythonInterpreterTool()("2 + 2")
    assert [span.name for span in seen.spans] == ["execute_tool python_interpreter"]
