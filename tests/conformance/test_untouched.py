"""What hooks do to what they read reaches nobody: not the call, not the application, not another hook."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import StructuredTool
from langgraph.graph import START, StateGraph
from langgraph.types import Command

from spanhook import Hooks, Operation, SealedError, current_operation
from spanhook.cli.conformance.checks.comparing import comparable, outcome
from spanhook.cli.conformance.libraries.langchain import WAYS, Calls, agent, consume
from spanhook.cli.conformance.libraries.langchain_core import ScriptedChat
from spanhook.cli.conformance.subject import Body, Subject, settle
from spanhook.testing import recorder
from tests.conformance.everything import CASES, named, one_way_each
from tests.conformance.test_contract import FAILING, MALFORMED
from tests.stub import stubbed

DAMAGE = "damaged"


def vandalise(value: Any, known: set[int] | None = None) -> None:
    """Change whatever can be changed in place, as deep as it goes into plain data, messages and results."""
    known = known if known is not None else set()
    if id(value) in known or isinstance(value, str | bytes | int | float | None):
        return
    known.add(id(value))
    if isinstance(value, dict):
        for one in list(value.values()):
            vandalise(one, known)
        value[DAMAGE] = DAMAGE
    elif isinstance(value, list):
        for one in value:
            vandalise(one, known)
        value.append(DAMAGE)
    elif isinstance(value, tuple):
        for one in value:
            vandalise(one, known)
    elif hasattr(type(value), "model_fields"):
        for name in type(value).model_fields:
            one = value.__dict__.get(name)
            vandalise(one, known)
            if isinstance(one, str):
                value.__dict__[name] = DAMAGE
    elif isinstance(value, Exception):
        value.args = (DAMAGE,)
        value.add_note(DAMAGE)
    elif isinstance(value, Command):
        vandalise(value.update, known)


def damage(op: Operation) -> None:
    """Everything that a hook can reach by reading."""
    request = op.request
    for part in (request.messages, request.tools, request.arguments, request.inputs, request.tool_definitions):
        vandalise(part)
    vandalise(op.result)
    vandalise(op.error)
    vandalise(op.extras)
    vandalise(op.response.messages)
    vandalise(op.response.value)
    op.usage.input_tokens = op.usage.output_tokens = 10**6
    for used in op.usage_by_model.values():
        used.input_tokens = 10**6


def vandals() -> Hooks:
    """Hooks of every form that damage what they read, and one that then looks whether it is damaged."""
    hooks = Hooks()
    hooks.before("*", priority=10, name="first")(damage)

    @hooks.around("*", name="around")
    def around(op: Operation) -> Iterator[Any]:
        damage(op)
        try:
            vandalise((yield))
        finally:
            damage(op)

    @hooks.around("*", name="wrap", timeout=60.0)
    async def wrap(op: Operation, call_next: Any) -> None:
        damage(op)
        try:
            vandalise(await call_next())
        finally:
            damage(op)

    hooks.before("*", fail_mode="open", blocking=True, timeout=60.0, name="blocking")(damage)
    hooks.after("*", priority=200)(damage)  # from 100 on, so that no stream is held back for it
    hooks.on_error("*", priority=10)(damage)
    hooks.on("*", damage, level="trace")
    return hooks


def intact(seen: list[str]) -> Hooks:
    """Hooks that say what is damaged by the time they look."""
    hooks = Hooks()

    def look(op: Operation) -> None:
        request = op.request
        shown = (
            request.messages,
            request.system,
            request.tools,
            request.arguments,
            repr(request.inputs),
            repr(op.result),
            repr(op.error),
            comparable(op.response.messages),
            op.extras,
        )
        if DAMAGE in repr(shown):
            seen.append(f"{op.event} {shown!r}")

    hooks.before("*", priority=900)(look)
    hooks.after("*", priority=900)(look)
    hooks.on_error("*", priority=900)(look)
    return hooks


def asked(body: Body) -> list[str]:
    """What a body was called with, in no order, as batches have none."""
    return sorted(str(comparable(one)) for one in body.seen if isinstance(one, list | dict | str))


@pytest.mark.parametrize("case", one_way_each(CASES), ids=named)
def test_what_hooks_damage_is_their_own(case: tuple[Subject, str]) -> None:
    subject, way = case
    control, body, damaged = Body(), Body(), list[str]()
    expected = outcome(lambda: subject.ways[way](subject.make(control)))
    thing = subject.make(body)
    with recorder([vandals(), intact(damaged)]) as seen:
        assert outcome(lambda: subject.ways[way](thing)) == expected
    assert asked(body) == asked(control)
    assert damaged == []
    assert not [one for op in seen.operations for one in op.decisions]
    assert all(op.usage.total_tokens < 10**5 for op in seen.operations)


@pytest.mark.parametrize("name", sorted(FAILING.keys() - MALFORMED))
def test_errors_are_copies(name: str) -> None:
    expected = outcome(FAILING[name])
    damaged: list[str] = []
    with recorder([vandals(), intact(damaged)]):
        assert outcome(FAILING[name]) == expected
    assert damaged == []


@pytest.mark.parametrize("way", ["invoke", "ainvoke", "stream", "astream"])
def test_agents_are_not_damaged(way: str) -> None:
    assert way in WAYS
    expected = outcome(lambda: consume(agent(Calls()), way))
    damaged: list[str] = []
    with recorder([vandals(), intact(damaged)]):
        assert outcome(lambda: consume(agent(Calls()), way)) == expected
    assert damaged == []


def test_the_applications_own_objects_stay_as_they_are() -> None:
    given = {"query": {"deep": ["x"]}}
    messages = [SystemMessage("be brief"), HumanMessage([{"type": "text", "text": "hi"}]), AIMessage("ho")]
    state = {"value": {"deep": [1]}, "messages": messages}
    kept = copy.deepcopy((given, messages, state))

    def look_up(query: dict[str, Any]) -> dict[str, Any]:
        """Look something up."""
        return query

    def work(state: Any) -> Any:
        return {"value": state["value"]}

    schema: Any = dict
    builder: Any = StateGraph(schema)
    builder.add_node("work", work)
    builder.add_edge(START, "work")
    with recorder(vandals()):
        assert StructuredTool.from_function(look_up).invoke(given) == given["query"]
        ScriptedChat(body=Body()).invoke(messages)
        builder.compile().invoke(state)
    assert (given, messages, state) == kept


def test_the_request_is_one_object_until_it_is_replaced() -> None:
    hooks = Hooks()
    seen: list[Any] = []

    @hooks.before("llm.call")
    def rewrite(op: Operation) -> None:
        request = op.request
        assert op.request is request
        request.messages[0]["parts"][0]["content"] = "edited"
        assert op.request.messages[0]["parts"][0]["content"] == "edited"
        op.replace(messages=op.request.messages)
        assert op.request is not request
        seen.append(op.request.messages)

    @hooks.before("llm.call", priority=80)
    def later(op: Operation) -> None:
        seen.append(op.request.messages)

    body = Body()
    with recorder(hooks):
        ScriptedChat(body=body).invoke("hi")
    assert seen[0] == seen[1] == [{"role": "user", "parts": [{"type": "text", "content": "edited"}]}]
    assert [message.content for message in body.seen[0]] == ["edited"]


def test_what_was_given_to_replace_or_respond_is_the_hooks_own_afterwards() -> None:
    hooks = Hooks()
    kept: list[Any] = []

    @hooks.around("tool.execute", names={"rewritten"})
    def rewrite(op: Operation) -> Iterator[None]:
        arguments: dict[str, Any] = {"query": {"deep": ["new"]}}
        op.replace(arguments=arguments)
        vandalise(arguments)
        yield
        vandalise(arguments)

    @hooks.before("tool.execute", names={"answered"})
    def respond(op: Operation) -> None:
        answer = {"deep": ["answer"]}
        kept.append(answer)
        op.respond(answer)

    def body(query: dict[str, Any]) -> dict[str, Any]:
        """Work."""
        return copy.deepcopy(query)

    with recorder(hooks):
        assert StructuredTool.from_function(body, name="rewritten").invoke({"query": {}}) == {"deep": ["new"]}
        answered = StructuredTool.from_function(body, name="answered").invoke({"query": {}})
    vandalise(kept)
    assert answered == {"deep": ["answer"]}


def test_a_result_that_an_around_hook_edits_and_returns_replaces_it() -> None:
    hooks = Hooks()

    @hooks.around("tool.execute", names={"edited"})
    def edit(op: Operation) -> Iterator[Any]:
        result: Any = yield
        result.append("edited")
        return result

    @hooks.around("tool.execute", names={"kept"})
    def keep(op: Operation) -> Iterator[Any]:
        result: Any = yield
        return result

    def body(query: str) -> list[str]:
        """Work."""
        return [query]

    with recorder(hooks) as seen:
        assert StructuredTool.from_function(body, name="edited").invoke({"query": "x"}) == ["x", "edited"]
        assert StructuredTool.from_function(body, name="kept").invoke({"query": "x"}) == ["x"]
    assert [[one.decision for one in op.decisions] for op in seen.operations] == [["replace"], []]


# ------------------------------------------------------------------------------------------ other operations


def test_a_hook_changes_its_own_operation_alone() -> None:
    hooks = Hooks()
    errors: list[str] = []

    def attempt(change: Callable[[], None]) -> None:
        try:
            change()
        except SealedError as error:
            errors.append(str(error))

    @hooks.before("llm.call")
    def meddle(op: Operation) -> None:
        assert op.parent is not None
        for other in (op.parent, op.root, current_operation()):
            assert other is not None
            attempt(lambda other=other: other.respond("meddled"))
            attempt(lambda other=other: other.replace(arguments={"query": "meddled"}))
            with pytest.raises(TypeError):
                other.state["x"] = 1

    def ask(query: str) -> str:
        """Ask a model."""
        return str(ScriptedChat(body=Body()).invoke(query).content)

    tool = StructuredTool.from_function(ask)
    hooks.before("tool.execute")(lambda op: op.state.update(mine=1))
    with recorder(hooks) as seen:
        assert tool.invoke({"query": "x"}) == "hello there friend"
    assert len(errors) == 6
    assert all("a hook may change only its own operation" in error for error in errors)
    assert not [one for op in seen.operations for one in op.decisions]


@pytest.mark.parametrize("form", ["before", "after", "around", "wrap", "on_error"])
def test_a_kept_reference_is_read_only(form: str) -> None:
    hooks = Hooks()
    kept: list[Operation] = []

    def keep(op: Operation) -> None:
        kept.append(op)

    if form == "around":

        @hooks.around("llm.call")
        def around(op: Operation) -> Iterator[None]:
            keep(op)
            yield

    elif form == "wrap":

        @hooks.around("llm.call", timeout=60.0)
        async def wrap(op: Operation, call_next: Any) -> None:
            keep(op)
            await call_next()

    else:
        getattr(hooks, form)("llm.call")(keep)

    @hooks.before("llm.call", priority=900, name="later")
    def later(op: Operation) -> None:
        for one in kept:
            with pytest.raises(SealedError, match=r"returned|call is being made"):
                one.respond("meddled")

    with stubbed(hooks) as (library, seen):
        if form == "on_error":
            with pytest.raises(KeyError):
                library.work(KeyError("x"))
        else:
            assert library.work("x") == "x"
        for change in (lambda: kept[0].respond("late"), lambda: kept[0].replace(inputs="late")):
            with pytest.raises(SealedError, match="the hook has returned"):
                change()
        with pytest.raises(AttributeError):
            kept[0].result = "late"  # pyright: ignore[reportAttributeAccessIssue]
    assert not [one for op in seen.operations for one in op.decisions]


def test_views_of_one_operation_are_equal() -> None:
    hooks = Hooks()
    seen: list[Operation] = []
    hooks.before("llm.call")(seen.append)
    hooks.before("llm.call")(seen.append)
    with stubbed(hooks) as (library, recorded):
        library.work("x")
        library.work("y")
    assert seen[0] == seen[1] == recorded.operations[0]
    assert len({*seen, *recorded.operations}) == 2
    assert seen[0] != seen[2]


def test_tool_results_that_are_commands_are_copied() -> None:
    hooks = Hooks()
    hooks.after("tool.execute")(damage)
    made = Command(update={"messages": [ToolMessage("done", tool_call_id="1")]})

    def hand_over(query: str) -> Any:
        """Hand over."""
        return made

    with recorder(hooks):
        result = settle(StructuredTool.from_function(hand_over).ainvoke({"query": "x"}))
    assert result is made
    assert DAMAGE not in repr(made)
