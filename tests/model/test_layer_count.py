"""Of the counts of several libraries for one call, the most certain is taken, and none are added."""

from dataclasses import replace

import pytest
from langchain_core.messages import HumanMessage
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from spanhook import operation
from spanhook.cli.conformance.libraries.openai_ways import CHAT, sync_client
from spanhook.cli.conformance.servers.openai_replies import Tokens
from spanhook.cli.conformance.servers.openai_server import OpenAIServer, Reply
from spanhook.testing import Recorder, recorder


def counted(seen: Recorder) -> tuple[int, int, int, int, str]:
    [op] = seen.operations
    used = op.usage
    buckets = sum(value for _, value in seen.metrics()["spanhook.usage.tokens"])
    assert buckets == used.total_tokens
    return used.input_tokens, used.output_tokens, used.cache_read_tokens, used.cache_write_tokens, used.source


@pytest.mark.parametrize("reply", [Reply(running=True), Reply()], ids=["in each chunk", "once"])
def test_openai_below_langchain(reply: Reply) -> None:
    with OpenAIServer() as server:
        server.reply = replace(reply, tokens=Tokens(20, 8, cached=4, reasoning=3))
        model = ChatOpenAI(model="gpt-4o-mini", base_url=server.url, api_key=SecretStr("test"), stream_usage=True)
        with recorder() as seen:
            list(model.stream("hi"))
        assert counted(seen) == (20, 8, 4, 0, "provider")


def test_a_report_of_nothing_is_none_if_text_has_come() -> None:
    with OpenAIServer() as server, sync_client(server.url) as client:
        server.reply = Reply("hello there", usage="always", tokens=Tokens(0, 0))
        with recorder() as seen:
            list(client.chat.completions.create(**CHAT, stream=True))
        _, output, _, _, source = counted(seen)
        assert (output, source) == (3, "estimate")


def test_running_totals_of_a_stream_without_an_end_are_estimates() -> None:
    with OpenAIServer() as server, sync_client(server.url, max_retries=0) as client:
        server.reply = Reply(running=True, usage="always")
        with recorder() as seen:
            stream = client.chat.completions.create(**CHAT, stream=True)
            for _ in range(3):
                next(stream)
            stream.close()
        [op] = seen.operations
        assert (op.status, op.usage.estimated, op.usage.input_tokens) == ("abandoned", True, 20)


def test_what_the_application_reports_is_not_added_to_what_the_provider_did() -> None:
    request = {"messages": CHAT["messages"]}
    with (
        OpenAIServer() as server,
        sync_client(server.url) as client,
        recorder() as seen,
        operation("llm.call", CHAT["model"], provider="openai", request=request) as op,
    ):
        client.chat.completions.create(**CHAT)
        op.record_usage(input_tokens=99, output_tokens=99, cost_usd=0.5)
    [ended] = seen.operations
    used = ended.usage
    assert (used.input_tokens, used.output_tokens, used.source, used.cost_usd) == (20, 8, "provider", 0.5)


def test_a_batch_of_which_one_part_reports_nothing_is_an_estimate() -> None:
    without = {"id": "1", "object": "chat.completion", "created": 1, "model": "gpt-4o-mini"}
    answer = {"index": 0, "message": {"role": "assistant", "content": "hello"}, "finish_reason": "stop"}
    with OpenAIServer() as server:
        server.script(Reply(), Reply(body={**without, "choices": [answer]}))
        model = ChatOpenAI(model="gpt-4o-mini", base_url=server.url, api_key=SecretStr("test"))
        with recorder() as seen:
            model.generate([[HumanMessage("one")], [HumanMessage("two")]])
        assert counted(seen) == (20, 8, 0, 0, "estimate")


def test_a_response_that_is_still_worked_on_in_the_background_makes_no_later_count_an_estimate() -> None:
    queued = {"id": "resp_1", "object": "response", "model": "gpt-4o-mini", "status": "queued", "output": []}
    with (
        OpenAIServer() as server,
        sync_client(server.url) as client,
        recorder() as seen,
        operation("llm.call", "gpt-4o-mini", provider="openai", request={"messages": "hi"}) as op,
    ):
        server.reply = Reply(body=queued)
        client.responses.create(model="gpt-4o-mini", input="hi", background=True)
        op.record_usage(input_tokens=20, output_tokens=8)
    assert counted(seen) == (20, 8, 0, 0, "framework")
