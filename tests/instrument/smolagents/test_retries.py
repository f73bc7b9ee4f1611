"""Rejections are not retried, whatever their reasons say."""

from typing import Any, Literal

import pytest

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.smolagents_ways import ASK, Own, agent, smolagents
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder

models: Any = smolagents.models
pytestmark = pytest.mark.skipif(
    not hasattr(models, "is_rate_limit_error"), reason="older versions of smolagents retry nothing"
)


class Router(getattr(models, "ApiModel", models.Model)):
    """A model that passes its requests on to another one, and retries."""

    def create_client(self) -> Any:
        return Own(Body())

    def generate(self, messages: Any, **given: Any) -> Any:
        here: Any = self
        return here.retryer(here.client.generate, messages, **given)


@pytest.mark.parametrize("scope", ["operation", "run"])
@pytest.mark.parametrize("reason", ["rate limit reached", "429 calls are enough", "Too many requests today"])
def test_a_rejection_is_no_rate_limit_of_the_provider(
    reason: str,
    scope: Literal["operation", "run"],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(models, "RETRY_WAIT", 0.0)
    made: Any = Router(model_id="router")
    hooks, asked = Hooks(), list[str | None]()

    @hooks.before("llm.call", models={"own"})
    def refuse(op: Operation) -> None:
        asked.append(op.model)
        raise Reject(reason, scope=scope)

    caplog.set_level("INFO", logger="smolagents")
    with recorder(hooks), pytest.raises(Reject, match=reason):
        agent(made, max_steps=1).run(ASK)
    assert asked == ["own"]
    assert [said for said in caplog.messages if said.startswith("Retrying")] == []
    assert made.client.body.runs == 0


def test_a_rate_limit_of_the_provider_is_retried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "RETRY_WAIT", 0.0)
    made: Any = Router(model_id="router")
    fails = ["HTTP status 429", ""]
    generate = made.client.generate

    def failing(*args: Any, **given: Any) -> Any:
        if fails.pop(0):
            raise RuntimeError("HTTP status 429")
        return generate(*args, **given)

    made.client.generate = failing
    with recorder(Hooks()):
        assert made.generate([models.ChatMessage(role=models.MessageRole.USER, content=ASK)]).content
    assert fails == []
