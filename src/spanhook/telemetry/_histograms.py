"""The instruments recorded when a call has ended: durations, chunks and tokens, under either set of names.

All are created with every provider; instruments without records are not exported.
"""

from collections.abc import Sequence
from typing import Any

from opentelemetry.metrics import Meter

from spanhook import semconv
from spanhook.telemetry._measurements import Measurements, Waiting


class Histograms:
    """Every histogram, and the newest conventions' counters of tokens.

    Args:
        meter: The meter that creates them.

    Attributes:
        measurements: Records on them.
    """

    def __init__(self, meter: Meter) -> None:
        def histogram(buckets: Sequence[float], unit: str, name: str, about: str) -> Any:
            made = meter.create_histogram(name, unit, about, explicit_bucket_boundaries_advisory=list(buckets))
            instruments.append(made)
            return made

        def counter(name: str, about: str) -> Any:
            made = meter.create_counter(name, "{token}", about)
            instruments.append(made)
            return made

        instruments: list[Any] = []

        seconds, agent, calls = semconv.DURATION_BUCKETS, semconv.AGENT_DURATION_BUCKETS, semconv.CALL_BUCKETS
        tokens = semconv.TOKEN_BUCKETS
        self.duration = histogram(seconds, "s", semconv.METRIC_CLIENT_DURATION, "Duration of model calls")
        self.first_chunk = histogram(
            seconds, "s", semconv.METRIC_TIME_TO_FIRST_CHUNK, "Time to the first chunk of a stream"
        )
        self.per_chunk = histogram(
            seconds, "s", semconv.METRIC_TIME_PER_OUTPUT_CHUNK, "Time between consecutive chunks of a stream"
        )
        self.tokens = histogram(tokens, "{token}", semconv.METRIC_CLIENT_TOKENS, "Tokens used by model calls")
        self.agent = histogram(agent, "s", semconv.METRIC_AGENT_DURATION, "Duration of agent runs")
        self.agent_llm_calls = histogram(
            calls, "{inference_call}", semconv.METRIC_AGENT_INFERENCE_CALLS, "Model calls per agent run"
        )
        self.agent_tool_calls = histogram(
            calls, "{tool_call}", semconv.METRIC_AGENT_TOOL_CALLS, "Tool calls per agent run"
        )
        self.tool = histogram(seconds, "s", semconv.METRIC_TOOL_DURATION, "Duration of tool calls")
        self.mcp_client = histogram(
            semconv.MCP_DURATION_BUCKETS, "s", semconv.METRIC_MCP_CLIENT_DURATION, "Duration of requests to MCP servers"
        )
        self.mcp_server = histogram(
            semconv.MCP_DURATION_BUCKETS, "s", semconv.METRIC_MCP_SERVER_DURATION, "Duration of requests of MCP clients"
        )
        self.workflow = histogram(agent, "s", semconv.METRIC_WORKFLOW_DURATION, "Duration of workflow runs")
        hook = histogram(seconds, "s", semconv.METRIC_HOOK_DURATION, "Duration of async and blocking hooks")
        self.held = histogram(seconds, "s", semconv.METRIC_STREAM_HELD, "Time that streams were held back by hooks")
        self.llm_calls = histogram(calls, "{call}", semconv.METRIC_RUN_LLM_CALLS, "Model calls per run")
        self.tool_calls = histogram(calls, "{call}", semconv.METRIC_RUN_TOOL_CALLS, "Tool calls per run")

        self.inference = histogram(seconds, "s", semconv.METRIC_INFERENCE_DURATION, "Duration of model calls")
        self.inference_first_chunk = histogram(
            seconds, "s", semconv.METRIC_INFERENCE_TIME_TO_FIRST_CHUNK, "Time to the first chunk of a stream"
        )
        self.inference_per_chunk = histogram(
            seconds, "s", semconv.METRIC_INFERENCE_TIME_PER_OUTPUT_CHUNK, "Time between consecutive chunks of a stream"
        )
        self.input_tokens = histogram(
            tokens, "{token}", semconv.METRIC_INFERENCE_INPUT_TOKENS, "Input tokens used by model calls"
        )
        self.output_tokens = histogram(
            tokens, "{token}", semconv.METRIC_INFERENCE_OUTPUT_TOKENS, "Output tokens used by model calls"
        )
        self.used_input = counter(semconv.METRIC_INFERENCE_USAGE_INPUT, "Input tokens, cached ones included")
        self.used_output = counter(semconv.METRIC_INFERENCE_USAGE_OUTPUT, "Output tokens, reasoning included")
        self.used_cache_read = counter(semconv.METRIC_INFERENCE_USAGE_CACHE_READ, "Input tokens read from a cache")
        self.used_cache_write = counter(semconv.METRIC_INFERENCE_USAGE_CACHE_WRITE, "Input tokens written to a cache")
        self.used_reasoning = counter(semconv.METRIC_INFERENCE_USAGE_REASONING, "Output tokens spent on reasoning")
        self.measurements = Measurements(instruments)
        self.hook = Waiting(hook, self.measurements)
