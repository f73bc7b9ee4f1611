"""What is read later, if its call is only the transport of another operation."""

import contextvars
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import spanhook
from spanhook.cli.conformance.libraries.botocore_ways import CLAUDE, invocation
from spanhook.cli.conformance.servers.bedrock_server import BedrockServer
from spanhook.cli.conformance.servers.openai_replies import Reply
from spanhook.testing import recorder

ASKED: dict[str, Any] = {"messages": ["Say hello."]}


def test_what_it_reports_goes_to_the_operation_around_it(made: Any) -> None:
    with recorder() as seen:
        with spanhook.operation("llm.call", CLAUDE, request=ASKED):
            assert json.loads(made.invoke_model(**invocation(CLAUDE))["body"].read())["content"]
        with spanhook.operation("llm.call", CLAUDE, request=ASKED):
            assert list(made.invoke_model_with_response_stream(**invocation(CLAUDE))["body"])
    assert [(op.kind, op.usage.total_tokens) for op in seen.operations] == [("llm.call", 28)] * 2


def test_a_call_that_outlives_the_operation_around_it(made: Any, server: BedrockServer) -> None:
    held = threading.Event()
    server.reply = Reply(hold=held)
    with recorder(), ThreadPoolExecutor() as pool:
        with spanhook.operation("llm.call", CLAUDE, request=ASKED):
            call = pool.submit(contextvars.copy_context().run, made.invoke_model, **invocation(CLAUDE))
            while not server.requests:
                time.sleep(0.001)
        held.set()
        assert json.loads(call.result()["body"].read())["content"]
