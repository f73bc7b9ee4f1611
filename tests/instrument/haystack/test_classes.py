"""Which components are models, and where their arguments stand."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.haystack_ways import (
    ASK,
    IS_2,
    ChatMessage,
    Own,
    Script,
    agent,
    component,
    haystack,
    messages,
    own,
)
from spanhook.cli.conformance.servers.openai_server import Reply
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder

REPLIES: Any = list[ChatMessage]


@component
class Undeclared:
    """Does not say what it gives."""

    def __init__(self, script: Script) -> None:
        self.script = script

    def run(self, messages: Any, tools: Any = None) -> dict[str, Any]:
        return {"replies": [self.script.next(messages, None)[0]]}


@component
class Open:
    """Says only when it is made what it takes."""

    def __init__(self, script: Script) -> None:
        self.script = script
        component.set_input_types(self, messages=REPLIES, tools=(Any, None))

    @component.output_types(replies=REPLIES)
    def run(self, **given: Any) -> dict[str, Any]:
        return {"replies": [self.script.next(given["messages"], None)[0]]}

    @component.output_types(replies=REPLIES)
    async def run_async(self, **given: Any) -> dict[str, Any]:
        return {"replies": [self.script.next(given["messages"], None)[0]]}


class Passes(Own):
    """Passes on whatever it is given."""

    @component.output_types(replies=REPLIES)
    def run(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        return super().run(*args, **kwargs)

    @component.output_types(replies=REPLIES)
    async def run_async(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        return await super().run_async(*args, **kwargs)


class Prompted(Own):
    """Takes something else, and asks its base."""

    @component.output_types(replies=REPLIES)
    def run(self, prompt: str) -> dict[str, Any]:
        return super().run([ChatMessage.from_user(prompt)])

    @component.output_types(replies=REPLIES)
    async def run_async(self, prompt: str) -> dict[str, Any]:
        return await super().run_async([ChatMessage.from_user(prompt)])


class Elsewhere(Own):
    """Its messages stand elsewhere than those of its base."""

    @component.output_types(replies=REPLIES)
    def run(self, tools: Any, messages: Any) -> dict[str, Any]:
        return super().run(messages, None, None, tools)

    @component.output_types(replies=REPLIES)
    async def run_async(self, tools: Any, messages: Any) -> dict[str, Any]:
        return await super().run_async(messages, None, None, tools)


@component
class Anything:
    """Names nothing of what it takes."""

    def __init__(self, script: Script) -> None:
        self.script = script

    @component.output_types(replies=REPLIES)
    def run(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        asked = args[0] if args else kwargs["messages"]
        return {"replies": [self.script.next([*asked], None)[0]]}


def by_place(model: Any) -> Any:
    return model.run(messages())


def by_name(model: Any) -> Any:
    return model.run(messages=messages())


def later(model: Any) -> Any:
    return asyncio.run(model.run_async(messages()))


def later_by_name(model: Any) -> Any:
    return asyncio.run(model.run_async(messages=messages()))


def alone(model: Any) -> Any:
    return model.run(messages()[0])


def of_an_agent(model: Any) -> Any:
    return agent(model).run(messages())


def prompted(model: Any) -> Any:
    return model.run(ASK)


def prompted_later(model: Any) -> Any:
    return asyncio.run(model.run_async(ASK))


def elsewhere(model: Any) -> Any:
    return model.run(None, messages())


def elsewhere_alone(model: Any) -> Any:
    return model.run(None, messages()[0])


def elsewhere_later(model: Any) -> Any:
    return asyncio.run(model.run_async(None, messages()))


WAYS: list[tuple[Any, Callable[[Any], Any]]] = [
    (Undeclared, by_place),
    (Undeclared, of_an_agent),
    (Open, by_name),
    (Open, later_by_name),
    (Open, of_an_agent),
    (Passes, by_place),
    (Passes, by_name),
    (Passes, later),
    (Passes, later_by_name),
    (Passes, of_an_agent),
    (Prompted, prompted),
    (Prompted, prompted_later),
    (Elsewhere, elsewhere),
    (Elsewhere, elsewhere_later),
    (Anything, by_place),
    (Anything, by_name),
]
ALONE = [(Passes, alone), (Anything, alone), (Elsewhere, elsewhere_alone)]
"""Ways that only some generators know."""

EACH = pytest.mark.parametrize(("cls", "way"), WAYS, ids=lambda one: one.__name__)


@pytest.mark.parametrize(("cls", "way"), [*WAYS, *ALONE], ids=lambda one: one.__name__)
def test_every_model_can_be_refused(cls: Any, way: Any) -> None:
    body, hooks = Body(), Hooks()

    @hooks.before("llm.call")
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    with recorder(hooks), pytest.raises(Reject, match="not today"):
        way(cls(Script(body)))
    assert body.runs == 0


@EACH
def test_every_model_is_one_call_whose_messages_hooks_see_and_change(cls: Any, way: Any) -> None:
    body, asked, hooks = Body(), list[Any](), Hooks()

    @hooks.before("llm.call")
    def change(op: Operation) -> None:
        asked.append([one["parts"][0]["content"] for one in op.request.messages])
        op.replace(messages=[{"role": "user", "parts": [{"type": "text", "content": "Say goodbye."}]}])

    with recorder(hooks) as seen:
        way(cls(Script(body)))
    assert (asked, body.seen) == ([[ASK]], [["Say goodbye."]])
    assert [one.name.startswith("chat") for one in seen.spans].count(True) == 1


def test_a_callback_is_not_passed_on_to_a_base_that_takes_none() -> None:
    @component
    class Base:
        streaming_callback = print

        @component.output_types(replies=REPLIES)
        def run(self, messages: Any) -> dict[str, Any]:
            return {"replies": [ChatMessage.from_assistant(Reply.text)]}

    class Above(Base):
        @component.output_types(replies=REPLIES)
        def run(self, **kwargs: Any) -> dict[str, Any]:
            return super().run(**kwargs)

    hooks = Hooks()

    @hooks.around("llm.call", stream="buffer")
    def decide(op: Operation) -> Any:
        yield

    with recorder(hooks):
        assert Above().run(messages=messages())["replies"][0].text == Reply.text


def test_components_that_take_anything_are_models_only_by_what_they_give() -> None:
    @component
    class Fills:
        def __init__(self) -> None:
            component.set_output_types(self, prompt=str)

        def run(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
            return {"prompt": f"{len(args)} {len(kwargs)}"}

    @component
    class Notes:
        def run(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
            return {}

    with recorder(Hooks()) as seen:
        assert Fills().run(messages=messages()) == {"prompt": "0 1"}
        assert Fills().run(messages()) == {"prompt": "1 0"}
        assert Notes().run(ASK, text=ASK) == {}
    assert not seen.spans


@pytest.mark.skipif(IS_2, reason="agents of this version want components")
def test_a_generator_that_is_no_component_and_takes_anything_is_gated() -> None:
    class Plain:
        def __init__(self) -> None:
            self.runs = 0

        def run(self, **kwargs: Any) -> dict[str, Any]:
            self.runs += 1
            return {"replies": [ChatMessage.from_assistant("hi")]}

    hooks, plain = Hooks(), Plain()

    @hooks.before("llm.call")
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    with recorder(hooks), pytest.raises(Reject, match="not today"):
        agent(plain).run(messages())
    assert plain.runs == 0


def test_a_pipeline_as_a_component_is_no_model() -> None:
    body = Body()
    pipeline = haystack.Pipeline()
    pipeline.add_component("model", own(body))
    made = haystack.SuperComponent(
        pipeline, input_mapping={"messages": ["model.messages"]}, output_mapping={"model.replies": "replies"}
    )
    with recorder(Hooks()) as seen:
        assert made.run(messages=messages())["replies"][0].text == Reply.text
    assert [one.name for one in seen.spans] == ["chat own", "invoke_workflow Pipeline"]


def test_generators_that_components_hold_are_met_when_a_pipeline_runs() -> None:
    class Plain:
        runs = 0

        def run(self, messages: Any) -> dict[str, Any]:
            type(self).runs += 1
            return {"replies": [ChatMessage.from_assistant("hi")]}

    @component
    class Routes:
        """Holds generators that are no components, in a table."""

        def __init__(self) -> None:
            self.models = {"plain": Plain()}

        @component.output_types(text=str)
        def run(self, text: str) -> dict[str, Any]:
            return {"text": self.models["plain"].run(messages=[ChatMessage.from_user(text)])["replies"][0].text}

    hooks = Hooks()

    @hooks.before("llm.call")
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    pipeline = haystack.Pipeline()
    pipeline.add_component("routes", Routes())
    with recorder(hooks), pytest.raises(Reject, match="not today"):
        pipeline.run({"routes": {"text": ASK}})
    assert Plain.runs == 0
