"""AWS's SDK without a network: a handler of its own events answers at once."""

from typing import Any

import botocore.session

from benchmarks.workloads import Operation

REQUEST: dict[str, Any] = {
    "modelId": "anthropic.claude-haiku-4-5-20251001-v1:0",
    "messages": [{"role": "user", "content": [{"text": "What is six times seven?"}]}],
    "inferenceConfig": {"maxTokens": 100, "temperature": 0.2},
}


class _Response:
    status_code = 200


def _answer(**_event: Any) -> Any:
    message = {"role": "assistant", "content": [{"text": "It is 42."}]}
    usage = {"inputTokens": 23, "outputTokens": 11, "totalTokens": 34}
    return _Response, {"output": {"message": message}, "stopReason": "end_turn", "usage": usage}


def converse() -> Operation:
    """A call of Converse."""
    session: Any = botocore.session.Session()
    keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test", "region_name": "us-east-1"}
    client = session.create_client("bedrock-runtime", **keys)
    client.meta.events.register_first("before-call.bedrock-runtime.Converse", _answer)

    def operation() -> None:
        assert client.converse(**REQUEST)["stopReason"] == "end_turn"

    return operation
