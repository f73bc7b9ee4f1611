"""Request hooks: what an abort answers with, and what a hook may change of a response."""

from typing import Any

import pytest

import spanhook
from spanhook import Reject
from spanhook.definitions import HookRegistry, RequestHookContext
from spanhook.testing import recorder
from tests.definitions.parts import Middleware


def request(registry: HookRegistry, response: dict[str, Any] | None = None) -> Any:
    inputs = {"method": "GET", "path": "/", "headers": {}, "body": b""}
    with recorder(registry.hooks), spanhook.operation("request", "GET /", request={"inputs": inputs}) as op:
        return op.call(lambda: response or {"status_code": 200, "headers": {"a": "1"}, "body": b"ok"})


def with_hook(execute: Any, event: str) -> HookRegistry:
    registry = HookRegistry()
    registry.register(Middleware(execute, event))
    return registry


@pytest.mark.parametrize("event", ["request.pre", "request.post"])
@pytest.mark.parametrize(("given", "answered"), [(429, 429), (0, 403), (200, 403)])
def test_an_abort_gives_the_request_its_status(event: str, given: int, answered: int) -> None:
    def abort(context: RequestHookContext, call_next: Any) -> Any:
        context.abort, context.abort_reason = True, "slow down"
        if given:
            context.status_code = given
        return context

    with pytest.raises(Reject, match="slow down") as raised:
        request(with_hook(abort, event))
    assert raised.value.status_code == answered


def test_status_headers_and_body_of_a_response_are_replaced() -> None:
    def change(context: RequestHookContext, call_next: Any) -> Any:
        context.response_headers["b"] = "2"
        context.status_code = 201
        return call_next(context)

    assert request(with_hook(change, "request.post")) == {
        "status_code": 201,
        "headers": {"a": "1", "b": "2"},
        "body": b"ok",
    }


def test_a_whole_response_is_replaced() -> None:
    def change(context: RequestHookContext, call_next: Any) -> Any:
        context.result = {"status_code": 404}
        return call_next(context)

    assert request(with_hook(change, "request.post")) == {"status_code": 404}


def test_a_response_set_before_the_request_is_handled_answers_it() -> None:
    def cached(context: RequestHookContext, call_next: Any) -> Any:
        context.status_code, context.response_body = 200, b"cached"
        return call_next(context)

    assert request(with_hook(cached, "request.pre")) == {"status_code": 200, "body": b"cached"}


def test_a_response_that_was_sent_already_stays_sent() -> None:
    def abort(context: RequestHookContext, call_next: Any) -> Any:
        context.abort, context.abort_reason = True, "too much"
        return context

    registry = with_hook(abort, "request.post")
    sent: list[str] = []
    with recorder(registry.hooks) as seen:
        with spanhook.operation("request", "GET /") as op:
            chunks = op.stream(iter(["a", "b"]))
        sent.extend(chunks)
    assert sent == ["a", "b"]
    (decision,) = seen.operations[0].decisions
    assert decision.decision == "too_late"
