"""What each service answers."""

from typing import Any

from tests.hooks.remote_policy.calls import policy
from tests.hooks.remote_policy.policy_server import PolicyServer

SAFE = {"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "\n\nsafe"}}]}
FLAGGED = {
    "flagged": True,
    "categories": {"hate": False, "violence": True, "harassment": True},
    "category_scores": {"hate": 0.1, "violence": 0.9, "harassment": 0.7},
}
CLEAN = {"flagged": False, "categories": {"hate": False}, "category_scores": {"hate": 0.01}}


def datadog(action: Any, **more: Any) -> Any:
    return {"data": {"id": "1", "type": "evaluations", "attributes": {"action": action, **more}}}


def said(content: Any, finish_reason: Any = "stop") -> Any:
    return {"choices": [{"finish_reason": finish_reason, "message": {"content": content}}]}


ALLOWS: dict[str, Any] = {
    "opa": {"result": True},
    "http": True,
    "agent_hooks": {"decision": "allow"},
    "grafana": {"action": "allow", "evaluations": []},
    "datadog": datadog("ALLOW", reason="fine", tags=[], is_blocking_enabled=True),
    "moderation": {"id": "m", "model": "omni", "results": [CLEAN]},
    "guard_model": SAFE,
}
ARGUMENTS = '{"amount": 5, "note": ""}'
MODELS = {"guard_model": {"model": "llama-guard-3"}}


ANSWERS: dict[str, Any] = {**ALLOWS, "moderation": lambda seen: {"results": [CLEAN] * len(seen.body["input"])}}


def asking(service: str, server: PolicyServer, **settings: Any) -> Any:
    return policy(service, server.url, **MODELS.get(service, {}), **settings)
