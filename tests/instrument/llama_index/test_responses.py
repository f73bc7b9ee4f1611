"""What models return: answers of hooks in the library's form, and usage in the words of providers."""

from importlib import import_module
from typing import Any

import pytest

from spanhook import Hooks, Operation
from spanhook.cli.conformance.libraries.llama_index_models import ChatMessage, ChatResponse, Own
from spanhook.cli.conformance.libraries.llama_index_ways import MODEL_WAYS, messages, own
from spanhook.cli.conformance.servers.openai_server import Tokens
from spanhook.cli.conformance.subject import Body, settle
from spanhook.testing import recorder

_types: Any = import_module("llama_index.core.base.llms.types")
WAYS = pytest.mark.parametrize("way", MODEL_WAYS)


@pytest.mark.parametrize(
    "answer",
    [
        "hi",
        ChatMessage(role="assistant", content="hi"),
        ChatResponse(message=ChatMessage(role="assistant", content="hi")),
        {"role": "assistant", "content": "hi"},
        _types.CompletionResponse(text="hi"),
    ],
    ids=["text", "message", "response", "dict", "completion"],
)
@WAYS
def test_an_answer_takes_the_form_of_a_response(way: str, answer: Any) -> None:
    body, hooks = Body(), Hooks()

    @hooks.before("llm.call")
    def reply(op: Operation) -> None:
        op.respond(answer)

    with recorder(hooks):
        assert settle(MODEL_WAYS[way](own(body))) == "hi"
    assert body.runs == 0


def test_what_replaces_an_answer_keeps_what_was_counted_and_not_the_answer_as_it_came() -> None:
    hooks = Hooks()

    @hooks.around("llm.call")
    def replace(op: Operation) -> Any:
        yield
        return "something else"

    with recorder(hooks):
        said = own(Body()).chat(messages())
    assert said.message.content == "something else"
    assert said.raw is None
    assert said.additional_kwargs["total_tokens"] == Tokens().total


@pytest.mark.parametrize(
    ("raw", "beside", "expected"),
    [
        ({"usage": {"prompt_tokens": 5, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 2}}}, {}, 2),
        ({"usage": {"input_tokens": 5, "output_tokens": 3, "input_tokens_details": {"cached_tokens": 2}}}, {}, 2),
        ({"usage_metadata": {"prompt_token_count": 5, "candidates_token_count": 3}}, {}, 0),
        ({"prompt_eval_count": 5, "eval_count": 3}, {}, 0),
        ({"usage": {"inputTokens": 5, "outputTokens": 3}}, {}, 0),
        (None, {"prompt_tokens": 5, "completion_tokens": 3}, 0),
    ],
    ids=["openai", "responses", "gemini", "ollama", "bedrock", "beside"],
)
def test_usage_is_read_in_the_words_of_providers(raw: Any, beside: dict[str, int], expected: int) -> None:
    class Reports(Own):
        def chat(self, messages: Any, **_given: Any) -> Any:
            message = ChatMessage(role="assistant", content="hi")
            return ChatResponse(message=message, raw=raw, additional_kwargs=beside)

    used, hooks = list[Any](), Hooks()

    @hooks.after("llm.call")
    def count(op: Operation) -> None:
        used.append((op.usage.input_tokens, op.usage.output_tokens, op.usage.cache_read_tokens))

    with recorder(hooks):
        Reports().chat(messages())
    assert used == [(5, 3, expected)]
