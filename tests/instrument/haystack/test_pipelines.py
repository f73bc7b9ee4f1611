"""Pipelines: what is inside of what, names, identity, refusals, streams that are left, the handle of a stream."""

import asyncio
from importlib import import_module
from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.haystack_ways import (
    IS_2,
    ChatMessage,
    Pipeline,
    haystack,
    messages,
    own,
    pipeline_of,
)
from spanhook.cli.conformance.servers.openai_server import Reply
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder
from tests.overriding import REFUSED, expect_asked_again, refusing_milk


def data() -> dict[str, Any]:
    return {"model": {"messages": messages()}}


def refused(kind: Any) -> Hooks:
    hooks = Hooks()

    @hooks.before(kind)
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    return hooks


def test_a_pipeline_is_named_by_its_metadata() -> None:
    made = haystack.Pipeline(metadata={"name": "answers"})
    made.add_component("model", own(Body()))
    totals, hooks = list[Any](), Hooks()
    hooks.after("run")(lambda op: totals.append((op.name, op.usage.llm_calls)))
    with recorder(hooks) as seen:
        made.run(data())
    assert [one.name for one in seen.spans] == ["chat own", "invoke_workflow answers"]
    assert totals == [("answers", 1)]


def test_ids_among_its_inputs_are_its_identity() -> None:
    found, hooks = list[Any](), Hooks()
    hooks.before("run")(lambda op: found.append((op.identity.user_id, op.identity.session_id)))

    @haystack.component
    class Greets:
        @haystack.component.output_types(greeting=str)
        def run(self, user_id: str, thread_id: str) -> dict[str, Any]:
            return {"greeting": f"{user_id} in {thread_id}"}

    made = haystack.Pipeline()
    made.add_component("greets", Greets())
    with recorder(hooks):
        assert made.run({"user_id": "u1", "thread_id": "s1"}) == {"greets": {"greeting": "u1 in s1"}}
    assert found == [("u1", "s1")]


def test_a_refused_pipeline_calls_nobody() -> None:
    body = Body()
    with recorder(refused("run")), pytest.raises(Reject, match="not today"):
        pipeline_of(body).run(data())
    assert body.runs == 0


def test_the_error_of_a_refused_component_is_the_librarys_too() -> None:
    error: Any = import_module("haystack.core.errors").PipelineRuntimeError
    with recorder(refused("llm.call")), pytest.raises(error) as raised:
        pipeline_of(Body()).run(data())
    assert isinstance(raised.value, Reject)
    assert getattr(raised.value, "component_name", "") == "model"


def test_an_answer_is_the_outputs_of_components() -> None:
    body, hooks = Body(), Hooks()
    hooks.before("run")(lambda op: op.respond({"model": {"replies": []}}))
    with recorder(hooks):
        assert pipeline_of(body).run(data()) == {"model": {"replies": []}}
        assert asyncio.run(pipeline_of(body).run_async(data())) == {"model": {"replies": []}}
    assert body.runs == 0


def test_a_stream_that_is_left_is_abandoned() -> None:
    async def leave() -> None:
        steps = pipeline_of(Body()).run_async_generator(data(), include_outputs_from={"model"})
        await anext(aiter(steps))
        await steps.aclose()

    with recorder(Hooks()) as seen:
        asyncio.run(leave())
    assert [(one.attributes or {})["spanhook.status"] for one in seen.spans] == ["success", "abandoned"]


@pytest.mark.skipif(IS_2, reason="this version has no such streams")
def test_the_handle_of_a_stream_gives_chunks_and_raises_refusals() -> None:
    async def read() -> str:
        handle = pipeline_of(Body()).stream(data())
        text = "".join([chunk.content async for chunk in handle])
        assert handle.result["model"]["replies"][0].text == text
        return text

    without = asyncio.run(read())
    with recorder(Hooks()) as seen:
        assert asyncio.run(read()) == without == Reply.text
    assert [one.name for one in seen.spans] == ["chat own", "invoke_workflow Pipeline"]
    for kind in ("llm.call", "run"):
        with recorder(refused(kind)), pytest.raises(Reject, match="not today"):
            asyncio.run(read())


def test_a_breakpoint_is_an_interruption() -> None:
    point: Any = import_module("haystack.dataclasses.breakpoints").Breakpoint
    error: Any = import_module("haystack.core.errors").BreakpointException
    with recorder(Hooks()) as seen, pytest.raises(error):
        made = haystack.Pipeline()
        made.add_component("model", own(Body()))
        made.run(data(), break_point=point(component_name="model"))
    assert [(one.attributes or {})["spanhook.status"] for one in seen.spans] == ["interrupted"]


# ------------------------------------------------------------------------------------------------- other components


def extractor(body: Body, **options: Any) -> Any:
    """A pipeline with a component that asks its model in threads."""
    made: Any = import_module("haystack.components.extractors").LLMMetadataExtractor
    pipeline = haystack.Pipeline(metadata={"name": "extracts"})
    model = own(body, '{"topic": "tea"}')
    pipeline.add_component("extracts", made("{{ document.content }}", model, ["topic"], **options))
    return pipeline


def documents() -> Any:
    document: Any = import_module("haystack").Document
    return {"extracts": {"documents": [document(content=one) for one in ("green", "black")]}}


def test_models_that_a_component_asks_in_threads_are_inside_of_the_run() -> None:
    body, totals, hooks = Body(), list[Any](), Hooks()
    hooks.after("run")(lambda op: totals.append(op.usage.llm_calls))
    with recorder(hooks) as seen:
        result = extractor(body).run(documents())
    assert [one.meta["topic"] for one in result["extracts"]["documents"]] == ["tea", "tea"]
    assert [one.name for one in seen.spans] == ["chat own", "chat own", "invoke_workflow extracts"]
    *models, run = seen.spans
    inside = run.get_span_context()
    assert [one.parent and one.parent.span_id for one in models] == [inside and inside.span_id] * 2
    assert totals == [body.runs] == [2]


def test_a_tool_of_such_a_component_has_its_models_inside_of_it() -> None:
    tool: Any = import_module("haystack.tools").ComponentTool
    body, parents, hooks = Body(), list[Any](), Hooks()

    @hooks.before("llm.call")
    def look(op: Operation) -> None:
        parents.append(op.parent and op.parent.kind)

    component = extractor(body).get_component("extracts")
    component.__haystack_added_to_pipeline__ = None
    with recorder(hooks):
        tool(component, name="extract").invoke(**documents()["extracts"])
    assert (parents, body.runs) == (["tool.execute"] * 2, 2)


def test_a_component_that_goes_on_after_a_refusal_does_so() -> None:
    """As ``raise_on_failure=False`` says; with ``scope="run"``, the run ends."""
    body = Body()
    with recorder(refused("llm.call")):
        assert len(extractor(body).run(documents())["extracts"]["failed_documents"]) == 2
    hooks = Hooks()

    @hooks.before("llm.call")
    def refuse(op: Operation) -> None:
        raise Reject("not today", scope="run")

    for one, options in ((refused("llm.call"), {"raise_on_failure": True}), (hooks, dict[str, Any]())):
        with recorder(one), pytest.raises(Reject, match="not today"):
            extractor(body, **options).run(documents())
    assert body.runs == 0


def test_an_error_that_was_made_of_a_refusal_is_one() -> None:
    made: Any = import_module("haystack.components.evaluators").LLMEvaluator
    example = {"inputs": {"answers": "tea"}, "outputs": {"score": 1}}
    evaluator = made(
        instructions="Is it tea?",
        inputs=[("answers", list[str])],
        outputs=["score"],
        examples=[example],
        chat_generator=own(Body()),
        progress_bar=False,
    )
    pipeline = haystack.Pipeline()
    pipeline.add_component("evaluates", evaluator)
    with recorder(refused("llm.call")), pytest.raises(Reject, match="not today"):
        pipeline.run({"evaluates": {"answers": ["tea"]}})


async def last_of(steps: Any) -> Any:
    return [step async for step in steps][-1]


PIPELINE_WAYS: dict[str, Any] = {
    "run": lambda made: made.run(data()),
    "run_async": lambda made: asyncio.run(made.run_async(data())),
    "run_async_generator": lambda made: asyncio.run(last_of(made.run_async_generator(data()))),
}


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("way", PIPELINE_WAYS)
def test_an_override_of_a_pipeline_that_asks_for_something_else_is_asked_about_again(way: str, in_place: bool) -> None:
    def edited(given: Any) -> Any:
        if not in_place:
            return {"model": {"messages": [ChatMessage.from_user("milk")]}}
        given["model"]["messages"][0] = ChatMessage.from_user("milk")
        return given

    class Editing(Pipeline):
        def run(self, data: Any, **given: Any) -> Any:
            return super().run(edited(data), **given)

        async def run_async(self, data: Any, **given: Any) -> Any:
            return await super().run_async(edited(data), **given)

        async def run_async_generator(self, data: Any, **given: Any) -> Any:
            async for step in super().run_async_generator(edited(data), **given):
                yield step

    body, made = Body(), Editing()
    made.add_component("model", own(body))
    hooks, asked = refusing_milk("run")
    with recorder(hooks), pytest.raises(Reject, match=REFUSED):
        PIPELINE_WAYS[way](made)
    beneath = IS_2 and way == "run"  # it is gated in what it calls, beneath the override
    assert (asked, body.runs) == ([True] if beneath else [False, True], 0)


@pytest.mark.parametrize("way", PIPELINE_WAYS)
def test_a_pipeline_is_one_run_however_it_is_run(way: str) -> None:
    hooks, asked = refusing_milk("run")
    made = Pipeline()
    made.add_component("model", own(Body()))
    with recorder(hooks) as seen:
        PIPELINE_WAYS[way](made)
    assert asked == [False]
    assert [one.kind for one in seen.operations].count("run") == 1


def test_a_pipeline_that_is_run_in_itself_with_other_data_is_asked_about_again() -> None:
    made = Pipeline()

    @haystack.component
    class Asking:
        @haystack.component.output_types(said=str)
        def run(self, text: str) -> dict[str, str]:
            return {"said": text if text == "milk" else made.run({"asking": {"text": "milk"}})["asking"]["said"]}

    made.add_component("asking", Asking())
    expect_asked_again("run", lambda: made.run({"asking": {"text": "tea"}}))
