"""Messages of Mistral's chat completions: the model's thinking is a part of the content."""

from typing import Any

from spanhook import Hooks, Operation
from spanhook.cli.conformance.libraries.mistralai_ways import CHAT, httpx
from spanhook.cli.conformance.servers.mistral_server import MistralServer
from spanhook.cli.conformance.servers.openai_replies import Json, Reply
from spanhook.testing import recorder
from tests.instrument.mistralai.test_chat import CARD

THOUGHT: Json = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm, 4111-1111."}], "signature": "s"}
PARTS = [THOUGHT, {"type": "text", "text": "Hello."}]


def _chunk(content: Any, finish: str | None = None) -> Json:
    delta = {"role": "assistant", "content": content}
    return {"id": "1", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def test_thinking_is_reasoning(client: Any, mistral: MistralServer) -> None:
    message = {"role": "assistant", "content": PARTS}
    usage = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    head = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "usage": usage}
    mistral.script(Reply(body={**head, "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}))
    told: list[Any] = []
    hooks = Hooks()
    hooks.after("llm.call")(lambda op: told.append(op.response.messages))
    with recorder(hooks):
        client.chat.complete(**CHAT)
    assert told == [
        [
            {
                "role": "assistant",
                "parts": [{"type": "reasoning", "content": "Hm, 4111-1111."}, {"type": "text", "content": "Hello."}],
                "finish_reason": "stop",
            }
        ]
    ]


def test_thinking_that_is_sent_back_stays_and_can_be_rewritten(client: Any, mistral: MistralServer) -> None:
    messages = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": PARTS},
        {"role": "user", "content": "more"},
    ]
    hooks = Hooks()

    @hooks.before("llm.call")
    def rewrite(op: Operation) -> None:
        first, second, third = op.request.messages
        text = {**second["parts"][1], "content": "Bye."}
        op.replace(messages=[first, {**second, "parts": [second["parts"][0], text]}, third])

    with recorder(hooks):
        client.chat.complete(model="m", messages=messages)
    sent = mistral.requests[0].body["messages"]
    thought, said = sent[1]["content"]
    assert (thought["thinking"], said) == (THOUGHT["thinking"], {"type": "text", "text": "Bye."})
    assert (sent[0]["content"], sent[2]["content"]) == ("hi", "more")

    hooks = Hooks()

    @hooks.before("llm.call")
    def conceal(op: Operation) -> None:
        op.replace(messages=[_masked(message) for message in op.request.messages])

    with recorder(hooks):
        client.chat.complete(model="m", messages=messages)
    assert "4111" not in repr(mistral.requests[1].body)
    assert "[card]" in repr(mistral.requests[1].body)


def _masked(message: Any) -> Any:
    parts = [{**part, "content": CARD.sub("[card]", part["content"])} for part in message["parts"]]
    return {**message, "parts": parts}


def test_chunks_with_parts_are_added_up() -> None:
    from spanhook.instrument.mistralai.apis import CHAT as ADAPTER

    request = httpx.Request("POST", "http://127.0.0.1/v1/chat/completions", json=CHAT)
    assert ADAPTER.streaming is not None
    assert ADAPTER.streaming.chunks is not None
    chunks = ADAPTER.streaming.chunks(None, (), {"request": request, "stream": True})
    chunks.keep = True
    for one in (
        _chunk([{"type": "thinking", "thinking": [{"type": "text", "text": "Hm, "}]}]),
        _chunk([{"type": "thinking", "thinking": [{"type": "text", "text": "4111."}]}]),
        _chunk("Hel"),
        _chunk([{"type": "text", "text": "lo"}]),
        _chunk("", "stop"),
    ):
        chunks.add(one)
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm, 4111."}]}
    assert chunks.result()["choices"][0]["message"]["content"] == [thought, {"type": "text", "text": "Hello"}]
    assert chunks.complete
    assert chunks.response()[1].estimated  # pyright: ignore[reportOptionalMemberAccess]
