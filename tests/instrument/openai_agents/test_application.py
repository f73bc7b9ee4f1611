"""A small application: triage with hand-offs, two tools, a guardrail, an agent as a tool; with spanhook and without."""

import importlib
from dataclasses import dataclass, field
from typing import Any

import pytest
from agents import (
    Agent,
    GuardrailFunctionOutput,
    InputGuardrail,
    OpenAIChatCompletionsModel,
    SQLiteSession,
    function_tool,
    set_trace_processors,
)

from spanhook import Hooks, Operation, Settings
from spanhook.cli.conformance.libraries.openai_agents_ways import Hearing, Traces, facts
from spanhook.cli.conformance.subject import Body
from spanhook.diagnostics import internal
from spanhook.instrument.openai_agents import OpenAIAgentsInstrumentor
from spanhook.model import Held, Point
from spanhook.testing import recorder
from tests.extractors import extractors, with_extractor
from tests.instrument.openai_agents.scripted import Way, both_ways, go, scripted

SECRET = "my card is 4111 1111"


@dataclass
class Application:
    """What it runs on and what it did."""

    ledger: Body = field(default_factory=Body)
    did: list[Any] = field(default_factory=list[Any])
    native: Hearing = field(default_factory=Hearing)

    def build(self) -> Agent[Any]:
        @function_tool
        def look_up_order(number: int) -> str:
            self.did.append(("order", number))
            return f"order {number} is paid"

        @function_tool
        async def refund(number: int) -> str:
            self.did.append(("refund", number))
            return f"refunded {number}"

        async def no_spam(_context: Any, agent: Any, _given: Any) -> GuardrailFunctionOutput:
            self.did.append(("guardrail", agent.name))
            return GuardrailFunctionOutput(output_info=None, tripwire_triggered=False)

        rules = Agent(name="rules", model=scripted(self.ledger, "Refunds are fine.", kind=OpenAIChatCompletionsModel))
        billing = Agent(
            name="billing",
            model=scripted(
                self.ledger,
                "not asked for that",
                "not asked for that either",
                [("ask_rules", '{"input": "May I?"}'), ("refund", '{"number": 7}')],
                "not asked for three",
                "It is refunded.",
            ),
            tools=[refund, rules.as_tool("ask_rules", "Ask about the rules.")],
        )
        return Agent(
            name="triage",
            instructions="Find who can help.",
            model=scripted(self.ledger, [("look_up_order", '{"number": 7}')], [("transfer_to_billing", "{}")], "no"),
            tools=[look_up_order],
            handoffs=[billing],
            input_guardrails=[InputGuardrail(no_spam)],
        )

    def run(self, way: Way) -> Any:
        session, traces = SQLiteSession("conversation"), Traces()
        set_trace_processors([traces])
        result = go(way, self.build(), f"Refund order 7, {SECRET}.", session=session, hooks=self.native)
        session.close()
        return facts(result), self.native.told, sorted(map(str, self.did)), len(traces.results)


def watching() -> Hooks:
    """Hooks of every form that change nothing."""
    hooks = Hooks()
    hooks.before("*")(lambda op: None)
    hooks.after("*", stream="buffer")(lambda op: None)

    @hooks.around("*")
    async def around(op: Operation, call: Any) -> None:
        await call()

    return hooks


@both_ways
def test_it_does_the_same_and_every_token_is_counted_once(way: Way) -> None:
    expected = Application().run(way)
    for hooks in (None, watching()):
        application = Application()
        with recorder(hooks) as seen:
            assert application.run(way) == expected
        ledger = application.ledger
        [whole] = [op for op in seen.operations if op.parent is None]
        assert ledger.runs == 5
        usage = whole.usage
        assert (usage.total_tokens, usage.llm_calls, usage.tool_calls) == (ledger.tokens, 5, 3)
        measured = seen.metrics()["gen_ai.client.token.usage"]
        assert sum(value for _, (value, _) in measured) == ledger.tokens
        kinds = sorted((op.kind, op.name) for op in seen.operations)
        assert kinds == [
            ("agent.delegate", "billing"),
            ("agent.invoke", "billing"),
            ("agent.invoke", "rules"),
            ("agent.invoke", "triage"),
            *[("llm.call", "gpt-4o-mini")] * 5,
            ("tool.execute", "ask_rules"),
            ("tool.execute", "look_up_order"),
            ("tool.execute", "refund"),
        ]
        assert len({str((span.attributes or {})["spanhook.run.id"]) for span in seen.spans}) == 1


@both_ways
def test_no_content_leaves_because_of_us(way: Way) -> None:
    with recorder(watching()) as seen:
        Application().run(way)
    emitted = str([span.to_json() for span in seen.spans]) + str(seen.events) + str(seen.metrics())
    for content in (SECRET, "refunded", "is paid", "Refunds are fine", "Find who can help"):
        assert content not in emitted
    with recorder(settings=Settings(content="SPAN_ONLY")) as seen:
        Application().run(way)
    assert SECRET in str([span.to_json() for span in seen.spans])


# ------------------------------------------------------------------------------------------------ errors of ours


def reading() -> Hooks:
    """Hooks that read everything, and change nothing."""
    hooks = Hooks()

    @hooks.before("*", priority=500)
    def before(op: Operation) -> None:
        str((op.request.messages, op.request.arguments, op.request.inputs, op.identity, op.extras))

    @hooks.after("*", priority=500)
    def after(op: Operation) -> None:
        str((op.response.messages, op.response.text, op.usage))

    return hooks


def _raise(*_args: Any, **_kwargs: Any) -> Any:
    raise ZeroDivisionError("injected")


@pytest.mark.slow
@pytest.mark.parametrize(
    "path", dict.fromkeys(one.adapter for one in OpenAIAgentsInstrumentor.table if isinstance(one, Point | Held))
)
@both_ways
def test_whatever_cannot_be_read_it_does_the_same(way: Way, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = Application().run(way)
    module, _, name = path.partition(":")
    loaded = importlib.import_module(module)
    adapter = getattr(loaded, name)
    for part in extractors(adapter):
        monkeypatch.setattr(loaded, name, with_extractor(adapter, part, _raise))
        with recorder(reading()):
            internal.fatal = False
            told = Application().run(way)
            internal.renew()
        assert told == expected, part
