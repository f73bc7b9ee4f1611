"""Conversations: what is said in them, in answers and in streams, and what hooks make of it."""

from typing import Any

from mistralai.client.models import ConversationResponse, FunctionCallEntry, MessageOutputEntry

from spanhook import Hooks, Operation
from spanhook.cli.conformance.libraries.mistralai_ways import MORE, TALK
from spanhook.cli.conformance.servers.mistral_server import MistralServer
from spanhook.cli.conformance.servers.openai_replies import Call, Reply
from spanhook.testing import recorder
from tests.instrument.mistralai.test_chat import CARD, TEXT, Masking


def said_in(events: Any) -> str:
    return "".join(event.data.content for event in events if event.data.type == "message.output.delta")


def test_a_span(client: Any) -> None:
    with recorder() as seen:
        client.beta.conversations.start(**TALK, completion_args={"temperature": 0.25, "random_seed": 3})
        list(client.beta.conversations.append_stream(**MORE))
    first, second = (span.attributes or {} for span in seen.spans)
    assert (first["gen_ai.request.temperature"], first["gen_ai.request.seed"]) == (0.25, 3)
    assert first["gen_ai.conversation.id"] == second["gen_ai.conversation.id"] == "conv_1"
    assert first["gen_ai.response.model"] == "mistral-medium-latest"
    assert (first["gen_ai.operation.name"], first["gen_ai.provider.name"]) == ("chat", "mistral_ai")
    assert [(op.usage.total_tokens, op.usage.estimated) for op in seen.operations] == [(28, False)] * 2


def test_what_is_asked(client: Any, mistral: MistralServer) -> None:
    told: list[Any] = []
    hooks = Hooks()

    @hooks.before("llm.call")
    def before(op: Operation) -> None:
        told.append((op.request.system, op.request.messages))
        op.replace(system="Be long.")

    with recorder(hooks):
        client.beta.conversations.start(**TALK)
        client.beta.conversations.append(
            conversation_id="conv_1",
            inputs=[
                {"type": "function.result", "tool_call_id": "call_1", "result": "sunny"},
                {"type": "message.input", "role": "user", "content": "And now?"},
            ],
        )
    assert told[0] == ("Be brief.", [{"role": "user", "parts": [{"type": "text", "content": "Say hello."}]}])
    assert told[1][1] == [
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_1", "response": "sunny"}]},
        {"role": "user", "parts": [{"type": "text", "content": "And now?"}]},
    ]
    assert mistral.requests[0].body["instructions"] == "Be long."
    assert mistral.requests[0].body["inputs"] == "Say hello."


def test_results_of_functions_can_be_rewritten(client: Any, mistral: MistralServer) -> None:
    hooks = Hooks()

    @hooks.before("llm.call")
    def rewrite(op: Operation) -> None:
        (message,) = op.request.messages
        op.replace(messages=[{**message, "parts": [{**message["parts"][0], "response": "rain"}]}])

    with recorder(hooks):
        client.beta.conversations.append(
            conversation_id="c", inputs=[{"type": "function.result", "tool_call_id": "call_1", "result": "sunny"}]
        )
    (entry,) = mistral.requests[0].body["inputs"]
    assert (entry["type"], entry["tool_call_id"], entry["result"]) == ("function.result", "call_1", "rain")


def test_calls_in_answers_and_streams(client: Any, mistral: MistralServer) -> None:
    mistral.reply = Reply(calls=(Call("look_up", {"city": "rome"}),))
    told: list[Any] = []
    hooks = Hooks()
    hooks.after("llm.call", stream="buffer", priority=50)(lambda op: told.append(op.response.messages[0]["parts"]))
    with recorder(hooks):
        answer = client.beta.conversations.start(**TALK)
        list(client.beta.conversations.start_stream(**TALK))
    part = {"type": "tool_call", "id": "call_1", "name": "look_up", "arguments": {"city": "rome"}}
    assert told == [[part], [part]]
    assert isinstance(answer.outputs[0], FunctionCallEntry)


def test_answers(client: Any, mistral: MistralServer) -> None:
    hooks = Hooks()
    hooks.before("llm.call")(lambda op: op.respond("closed"))
    with recorder(hooks):
        answer = client.beta.conversations.start(**TALK)
        assert said_in(client.beta.conversations.start_stream(**TALK)) == "closed"
    assert isinstance(answer, ConversationResponse)
    assert isinstance(answer.outputs[0], MessageOutputEntry)
    assert answer.outputs[0].content == "closed"
    assert mistral.requests == []


def test_answers_that_are_calls(client: Any) -> None:
    hooks = Hooks()
    part = {"type": "tool_call", "id": "call_9", "name": "look_up", "arguments": {"city": "rome"}}
    hooks.before("llm.call")(lambda op: op.respond([{"role": "assistant", "parts": [part]}]))
    with recorder(hooks):
        answer = client.beta.conversations.start(**TALK)
        events = list(client.beta.conversations.start_stream(**TALK))
    assert isinstance(answer.outputs[0], FunctionCallEntry)
    assert answer.outputs[0].tool_call_id == "call_9"
    assert [event.data.type for event in events] == [
        "conversation.response.started",
        "function.call.delta",
        "conversation.response.done",
    ]


def test_a_window(client: Any, mistral: MistralServer) -> None:
    mistral.reply = Reply(TEXT, pieces=tuple(TEXT))
    with recorder(Hooks(Masking())) as seen:
        assert said_in(client.beta.conversations.start_stream(**TALK)) == CARD.sub("[card]", TEXT)
    assert seen.operations[0].usage.total_tokens == 28


def test_a_stream_that_is_left(client: Any) -> None:
    with recorder() as seen, client.beta.conversations.start_stream(**TALK) as events:
        next(iter(events))
    assert [(op.status, op.usage.estimated) for op in seen.operations] == [("abandoned", True)]
