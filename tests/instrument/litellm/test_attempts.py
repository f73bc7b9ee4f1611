"""Retries, fallbacks and the router: what is gated, and that nothing makes up for a refusal."""

from collections.abc import Callable
from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.litellm_ways import litellm
from spanhook.cli.conformance.loops import run
from spanhook.cli.conformance.servers.openai_replies import Reply
from spanhook.cli.conformance.servers.openai_server import OpenAIServer
from spanhook.testing import recorder

MESSAGES = [{"role": "user", "content": "Say hello."}]
FAILED = Reply(status=500)


def refusing(*models: str, status: int = 403) -> Hooks:
    hooks = Hooks()

    @hooks.before("llm.call")
    def before(op: Operation) -> None:
        if op.model in models:
            raise Reject(f"not {op.model}", status_code=status)

    return hooks


def called(given: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    """The ways of calling."""

    async def within_a_loop() -> Any:
        return litellm.completion(**given)

    return {
        "sync": lambda: litellm.completion(**given),
        "async": lambda: run(litellm.acompletion(**given)),
        "sync, in a loop": lambda: run(within_a_loop()),
    }


WAYS = ("sync", "async", "sync, in a loop")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("status", [403, 429, 503])
def test_a_refusal_is_not_retried(way: str, status: int, server: OpenAIServer, to_openai: dict[str, Any]) -> None:
    call = called({**to_openai, "num_retries": 2, "fallbacks": ["openai/gpt-4o"]})[way]
    with recorder(refusing("gpt-4o-mini", status=status)) as seen, pytest.raises(Reject) as raised:
        call()
    assert (raised.value.reason, raised.value.status_code) == ("not gpt-4o-mini", status)
    assert [op.status for op in seen.operations] == ["rejected"]
    assert not server.requests


@pytest.mark.parametrize("way", WAYS)
def test_a_fallback_is_gated(way: str, server: OpenAIServer, to_openai: dict[str, Any]) -> None:
    server.script(FAILED)
    call = called({**to_openai, "fallbacks": ["openai/gpt-4o"]})[way]
    with recorder(refusing()) as seen:
        assert call().model.startswith("gpt-4o")
    assert [(op.model, op.status) for op in seen.operations] == [("gpt-4o", "success"), ("gpt-4o-mini", "success")]
    assert sum(value for _, value in seen.metrics()["spanhook.usage.tokens"]) == 28


@pytest.mark.parametrize("way", WAYS)
def test_no_fallback_makes_up_for_one_that_is_refused(
    way: str, server: OpenAIServer, to_openai: dict[str, Any]
) -> None:
    server.script(FAILED)
    call = called({**to_openai, "fallbacks": ["openai/gpt-4o", "openai/gpt-4"]})[way]
    with recorder(refusing("gpt-4o")) as seen, pytest.raises(litellm.exceptions.PermissionDeniedError) as raised:
        call()
    assert isinstance(raised.value, Reject)
    assert raised.value.reason == "not gpt-4o"
    assert [(op.model, op.status) for op in seen.operations] == [("gpt-4o", "rejected"), ("gpt-4o-mini", "rejected")]
    assert [len(op.decisions) for op in seen.operations] == [1, 0]
    assert len(server.requests) == 1


def test_retries_belong_to_the_call(server: OpenAIServer, to_openai: dict[str, Any]) -> None:
    pytest.importorskip("tenacity", reason="LiteLLM retries with it, and does not bring it along")
    server.script(FAILED)
    with recorder(refusing()) as seen:
        litellm.completion(**to_openai, num_retries=2)
    assert len(server.requests) == 2
    assert [(op.model, op.usage.total_tokens) for op in seen.operations] == [("gpt-4o-mini", 28)]


# ------------------------------------------------------------------------------------------------- the router


def router(server: OpenAIServer, **given: Any) -> Any:
    """A router with two deployments in a group, and one to fall back to."""
    to = {"api_base": server.url, "api_key": "test"}
    models = [("group", "gpt-4o-mini"), ("group", "gpt-4.1-mini"), ("other", "gpt-4o")]
    listed = [{"model_name": name, "litellm_params": {"model": f"openai/{model}", **to}} for name, model in models]
    return litellm.Router(model_list=listed, num_retries=2, retry_after=0, fallbacks=[{"group": ["other"]}], **given)


async def _stream(made: Any) -> list[Any]:
    return [chunk async for chunk in await made]


ROUTED: dict[str, Callable[[Any], Any]] = {
    "completion": lambda made: made.completion("group", MESSAGES),
    "acompletion": lambda made: run(made.acompletion("group", MESSAGES)),
    "completion, stream": lambda made: list(made.completion("group", MESSAGES, stream=True)),
    "acompletion, stream": lambda made: run(_stream(made.acompletion("group", MESSAGES, stream=True))),
}


@pytest.mark.parametrize("way", ROUTED)
def test_what_a_router_calls_is_gated(way: str, server: OpenAIServer) -> None:
    made = router(server)
    with recorder(refusing()) as seen:
        ROUTED[way](made)
    (op,) = seen.operations
    assert op.model in ("gpt-4o-mini", "gpt-4.1-mini")
    assert op.status == "success"


@pytest.mark.parametrize("status", [403, 429, 500])
@pytest.mark.parametrize("way", ROUTED)
def test_a_router_does_not_go_around_a_refusal(way: str, status: int, server: OpenAIServer) -> None:
    made = router(server)
    with recorder(refusing("gpt-4o-mini", "gpt-4.1-mini", status=status)) as seen, pytest.raises(Reject):
        ROUTED[way](made)
    assert [op.status for op in seen.operations] == ["rejected"]
    assert not server.requests
    with recorder() as seen:  # no deployment is cooled down
        ROUTED[way](made)
    assert seen.operations[0].model in ("gpt-4o-mini", "gpt-4.1-mini")


@pytest.mark.parametrize("way", ROUTED)
def test_a_routers_fallback_is_gated(way: str, server: OpenAIServer) -> None:
    made = router(server, disable_cooldowns=True)
    server.reply = FAILED
    with recorder(refusing("gpt-4o")) as seen, pytest.raises(Reject, match="not gpt-4o"):
        ROUTED[way](made)
    assert [op.status for op in seen.operations if op.model == "gpt-4o"] == ["rejected"]
    assert {request.body["model"] for request in server.requests} <= {"gpt-4o-mini", "gpt-4.1-mini"}
