"""A chat completion through LiteLLM, without a network: LiteLLM answers it itself."""

import os
from importlib import import_module
from typing import Any

from benchmarks.workloads import Operation

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # otherwise importing it fetches a list of prices
litellm: Any = import_module("litellm")
MESSAGES = [{"role": "user", "content": "hi"}]


def completion() -> Operation:
    """A completion with an answer that was given beforehand."""

    def operation() -> None:
        litellm.completion(model="openai/gpt-4o-mini", messages=MESSAGES, mock_response="All done.")

    return operation
