"""The start of an operation: it is gated also where it cannot be described, and counted as it is covered.

Calls that are alike are described once, and no call is described as another.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import StructuredTool
from typing_extensions import override

from spanhook import Hooks, Operation, Reject, semconv
from spanhook.diagnostics import internal
from spanhook.engine.beginning import described
from spanhook.instrument.langchain_core import chat, tools
from spanhook.instrument.openai.paths import ADAPTERS
from spanhook.model import Adapter, make_encodable
from tests.stub import MODES, STREAM, WHOLE, stubbed, use


@pytest.mark.parametrize(("fail_mode", "made"), [("closed", False), ("open", True)])
def test_a_gate_is_asked_where_its_filter_cannot_be(
    fail_mode: Any, made: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks = Hooks()

    @hooks.before("llm.call", models={"secret"}, fail_mode=fail_mode)
    def refuse(op: Operation) -> None:
        raise Reject("no")

    def broken(*_: Any) -> Any:
        raise ValueError("no such field")

    with stubbed(hooks) as (library, _):
        assert library.work("x") == "x"
        monkeypatch.setattr(internal, "fatal", False)
        monkeypatch.setitem(vars(WHOLE), "start", broken)
        if made:
            assert library.work("y") == "y"
        else:
            with pytest.raises(Reject, match="no"):
                library.work("y")
    assert ("y" in library.calls) is made


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("elsewhere", "coverage"), [(False, "enforced"), (True, "best_effort")])
def test_decisions_are_counted_under_the_coverage_of_their_operation(
    mode: Any, elsewhere: bool, coverage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks = Hooks()

    @hooks.before("*")
    def before(_op: Operation) -> None: ...

    @hooks.around("*")
    def around(_op: Operation) -> Iterator[None]:
        yield

    @hooks.after("*")
    def after(_op: Operation) -> None: ...

    @hooks.before("*", name="slow")
    async def abefore(_op: Operation) -> None: ...

    for adapter in (WHOLE, STREAM):
        monkeypatch.setitem(vars(adapter), "traits", frozenset(("made_elsewhere",) if elsewhere else ()))
    with stubbed(hooks) as (library, seen):
        use(library, mode, "xyz")
        counted = [attributes for attributes, _ in seen.metrics()[semconv.METRIC_DECISIONS]]
    (span,) = seen.spans
    assert (span.attributes or {})[semconv.COVERAGE] == coverage
    assert {one[semconv.HOOK].rpartition(".")[2]: one[semconv.COVERAGE] for one in counted} == dict.fromkeys(
        ("before", "around", "after", "slow"), coverage
    )


# ----------------------------------------------------------------------------------------------- descriptions


class Model(BaseChatModel):
    """A chat model with parameters of any value."""

    model_name: Any = "a"
    temperature: Any = None
    max_tokens: Any = None
    base_url: Any = None
    client: Any = None

    @property
    def _llm_type(self) -> str:
        return "any"

    @override
    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage("yes"))])


class Client:
    """A client with an address of its own."""

    class URL:
        """As HTTP clients have them."""

        host, port, scheme = "models.example", 8443, "https"

    _base_url = URL()


VALUES = st.sampled_from((None, 0, 1, True, False, 1.0, 0.5, "1", "", "other", [1], {"a": 1}, float("nan"), 10**30))
CALLS = st.fixed_dictionaries(
    {},
    optional={"temperature": VALUES, "model": VALUES, "stop": st.sampled_from((None, "x", ["x"], ())), "top_k": VALUES},
)
FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "model_name": VALUES,
        "temperature": VALUES,
        "max_tokens": VALUES,
        "base_url": st.sampled_from((None, "http://one.example", "https://two.example:1", 7)),
        "client": st.sampled_from((None, Client())),
    },
)


@given(calls=st.lists(st.tuples(FIELDS, CALLS), min_size=1, max_size=6))
@settings(deadline=None)
def test_models_are_described_as_if_each_were_the_only_one(calls: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    model = Model()
    for fields, kwargs in calls:
        for name in ("model_name", "temperature", "max_tokens", "base_url", "client"):
            setattr(model, name, fields.get(name))
        alone = _alone(chat.chat_start, model, ([],), kwargs)
        assert _described(chat.GENERATE, model, ([],), kwargs) == alone


@given(bodies=st.lists(st.dictionaries(st.sampled_from(("temperature", "n", "model", "stop", "messages")), VALUES)))
@settings(deadline=None)
def test_requests_are_described_as_if_each_were_the_only_one(bodies: list[dict[str, Any]]) -> None:
    adapter = ADAPTERS["/chat/completions"]
    for body in bodies:
        instance, kwargs = Client(), {"options": Options(body)}
        assert _described(adapter, instance, (), kwargs) == _alone(adapter.start, instance, (), kwargs)


class Options:
    """The options of a request, as the SDK has them."""

    url, headers, files, extra_json = "/chat/completions", None, None, None

    def __init__(self, body: dict[str, Any]) -> None:
        self.json_data = body


def _described(adapter: Adapter, instance: Any, args: Any, kwargs: Any) -> Any:
    """The description of a call, as the engine has it; the class of the error if there is none."""
    try:
        found = described(adapter, instance, args, kwargs)
    except Exception as error:
        return type(error)
    assert found is not None
    return _shown(found[0])


def _shown(attributes: dict[str, Any]) -> list[tuple[str, str]]:
    """Attributes in a form in which ``nan`` equals itself, and ``1`` does not equal ``True``.

    Without the operation's name, which the engine adds where it is missing.
    """
    return sorted((name, repr(value)) for name, value in attributes.items() if name != semconv.GEN_AI_OPERATION_NAME)


def _alone(start: Any, *given: Any) -> Any:
    try:
        attributes = start(*given)
        make_encodable(attributes)
    except Exception as error:
        return type(error)
    return _shown(attributes)


def test_tools_with_the_same_name_are_described_apart() -> None:
    one, other = (StructuredTool.from_function(print, name="say", description=about) for about in ("says it", "no"))
    for tool in (one, other, one):
        assert _described(tools.TOOL, tool, ({},), {}) == _alone(tools.tool_start, tool, ({},), {})
    assert (semconv.GEN_AI_TOOL_CALL_ID, "'7'") in _described(tools.TOOL, one, ({},), {"tool_call_id": "7"})


@pytest.mark.parametrize("name", ["user", "safety_identifier", "prompt_cache_key"])
@pytest.mark.parametrize("path", ["/chat/completions", "/responses", "/embeddings"])
def test_what_is_kept_of_requests_says_nothing_of_whose_they_are(path: str, name: str) -> None:
    adapter, client = ADAPTERS[path], Client()
    adapter.known.clear()
    for who in ("jo", "al", "jo"):
        assert described(adapter, client, (), {"options": Options({"model": "m", name: who})}) is not None
    assert len(adapter.known) == 1
    assert "'jo'" not in repr(adapter.known)


def test_few_descriptions_are_kept() -> None:
    adapter = Adapter(kind="llm.call", start=lambda *given: {semconv.GEN_AI_REQUEST_MODEL: given[0]}, watch=_itself)
    for index in range(1000):
        assert _described(adapter, str(index), (), {}) == [(semconv.GEN_AI_REQUEST_MODEL, repr(str(index)))]
        assert len(adapter.known) <= 256


def test_a_call_that_cannot_be_watched_is_described_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(internal, "fatal", False)
    adapter = Adapter(kind="llm.call", start=lambda *given: {semconv.GEN_AI_REQUEST_MODEL: "m"}, watch=_broken)
    attributes = {semconv.GEN_AI_REQUEST_MODEL: "m", semconv.GEN_AI_OPERATION_NAME: "chat"}
    assert described(adapter, None, (), {}) == (attributes, True, "chat m")
    assert not adapter.known


def test_a_call_whose_description_cannot_be_exported_is_gated_as_one_without(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(list[int]):
        def __iter__(self) -> Any:
            raise ZeroDivisionError

    monkeypatch.setattr(internal, "fatal", False)
    adapter = Adapter(kind="llm.call", start=lambda *given: {semconv.GEN_AI_REQUEST_MODEL: Broken()})
    assert described(adapter, None, (), {}) == ({}, True, None)


def _itself(instance: Any, _args: Any, _kwargs: Any) -> Any:
    return instance


def _broken(*_given: Any) -> Any:
    raise ZeroDivisionError
