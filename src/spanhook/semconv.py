"""Every attribute, event and metric name that spanhook writes, once.

Names under ``gen_ai.``, ``openai.``, ``mcp.``, ``jsonrpc.``, ``rpc.``, ``network.``, ``error.``, ``server.``, ``user.``
and ``session.`` are those of the OpenTelemetry semantic conventions
(https://github.com/open-telemetry/semantic-conventions-genai). They come in two sets: see ``SETS``. Names under
``spanhook.`` are this project's own, because no convention for hook decisions exists yet.
"""

from collections.abc import Mapping
from typing import Final, Literal, get_args

# --------------------------------------------------------------------------- kinds, phases, outcomes

Kind = Literal[
    "run",
    "agent.invoke",
    "agent.lifecycle",
    "agent.delegate",
    "llm.call",
    "tool.execute",
    "workflow.step",
    "retrieval.query",
    "embeddings.create",
    "memory.store",
    "iteration",
    "request",
    "job",
    "cron.execute",
]
Phase = Literal["pre", "post", "error"]
Decision = Literal[
    "allow", "reject", "modify", "replace", "pause", "error", "timeout", "skipped", "attempted", "too_late"
]
Status = Literal["success", "error", "rejected", "interrupted", "cancelled", "abandoned"]
Coverage = Literal["enforced", "best_effort", "observed"]
LifecyclePhase = Literal["start", "shutdown"]

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
PHASES: Final[tuple[Phase, ...]] = get_args(Phase)

# --------------------------------------------------------------------------- conventions: span attributes

ERROR_TYPE: Final = "error.type"
SERVER_ADDRESS: Final = "server.address"
SERVER_PORT: Final = "server.port"
USER_ID: Final = "user.id"
SESSION_ID: Final = "session.id"

GEN_AI_OPERATION_NAME: Final = "gen_ai.operation.name"
OPERATIONS: Final = frozenset(
    (
        "chat",
        "create_agent",
        "embeddings",
        "execute_tool",
        "invoke_agent",
        "invoke_workflow",
        "retrieval",
        "upsert_memory",
    )
)
"""Its value for each kind; kinds that the conventions do not name have none."""
INFERENCE: Final = frozenset(("chat", "text_completion", "generate_content"))
"""Its values for calls in which a model generates something, which the conventions call inference."""
GEN_AI_PROVIDER_NAME: Final = "gen_ai.provider.name"
UNKNOWN_PROVIDER: Final = "_OTHER"
"""Its value where an application does not say which: conventions require one."""
GEN_AI_AGENT_ID: Final = "gen_ai.agent.id"
GEN_AI_AGENT_NAME: Final = "gen_ai.agent.name"
GEN_AI_WORKFLOW_NAME: Final = "gen_ai.workflow.name"
GEN_AI_CONVERSATION_ID: Final = "gen_ai.conversation.id"
GEN_AI_DATA_SOURCE_ID: Final = "gen_ai.data_source.id"
GEN_AI_OUTPUT_TYPE: Final = "gen_ai.output.type"

GEN_AI_REQUEST_MODEL: Final = "gen_ai.request.model"
GEN_AI_REQUEST_STREAM: Final = "gen_ai.request.stream"
GEN_AI_REQUEST_TEMPERATURE: Final = "gen_ai.request.temperature"
GEN_AI_REQUEST_TOP_P: Final = "gen_ai.request.top_p"
GEN_AI_REQUEST_TOP_K: Final = "gen_ai.request.top_k"
GEN_AI_REQUEST_MAX_TOKENS: Final = "gen_ai.request.max_tokens"
GEN_AI_REQUEST_CHOICE_COUNT: Final = "gen_ai.request.choice.count"
GEN_AI_REQUEST_STOP_SEQUENCES: Final = "gen_ai.request.stop_sequences"
GEN_AI_REQUEST_FREQUENCY_PENALTY: Final = "gen_ai.request.frequency_penalty"
GEN_AI_REQUEST_PRESENCE_PENALTY: Final = "gen_ai.request.presence_penalty"
GEN_AI_REQUEST_SEED: Final = "gen_ai.request.seed"
GEN_AI_REQUEST_REASONING_LEVEL: Final = "gen_ai.request.reasoning.level"
GEN_AI_REQUEST_PREVIOUS_RESPONSE_ID: Final = "gen_ai.request.previous_response.id"
GEN_AI_PROMPT_NAME: Final = "gen_ai.prompt.name"
GEN_AI_PROMPT_VERSION: Final = "gen_ai.prompt.version"
GEN_AI_REQUEST_ENCODING_FORMATS: Final = "gen_ai.request.encoding_formats"
GEN_AI_EMBEDDINGS_DIMENSION_COUNT: Final = "gen_ai.embeddings.dimension.count"

GEN_AI_RESPONSE_ID: Final = "gen_ai.response.id"
GEN_AI_RESPONSE_MODEL: Final = "gen_ai.response.model"
GEN_AI_RESPONSE_FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK: Final = "gen_ai.response.time_to_first_chunk"

GEN_AI_USAGE_INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
GEN_AI_USAGE_OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS: Final = "gen_ai.usage.cache_read.input_tokens"
GEN_AI_USAGE_CACHE_CREATION_INPUT_TOKENS: Final = "gen_ai.usage.cache_creation.input_tokens"
GEN_AI_USAGE_CACHE_WRITE_INPUT_TOKENS: Final = "gen_ai.usage.cache_write.input_tokens"
GEN_AI_USAGE_REASONING_OUTPUT_TOKENS: Final = "gen_ai.usage.reasoning.output_tokens"
GEN_AI_TOKEN_TYPE: Final = "gen_ai.token.type"
GEN_AI_TOKEN_MODALITY: Final = "gen_ai.token.modality"

GEN_AI_TOOL_NAME: Final = "gen_ai.tool.name"
GEN_AI_TOOL_TYPE: Final = "gen_ai.tool.type"
GEN_AI_TOOL_CALL_ID: Final = "gen_ai.tool.call.id"
GEN_AI_TOOL_DESCRIPTION: Final = "gen_ai.tool.description"

# Of the conventions for the Model Context Protocol.
MCP_METHOD_NAME: Final = "mcp.method.name"
MCP_PROTOCOL_VERSION: Final = "mcp.protocol.version"
MCP_RESOURCE_URI: Final = "mcp.resource.uri"
MCP_SESSION_ID: Final = "mcp.session.id"
JSONRPC_REQUEST_ID: Final = "jsonrpc.request.id"
RPC_RESPONSE_STATUS_CODE: Final = "rpc.response.status_code"
HTTP_REQUEST_METHOD: Final = "http.request.method"
HTTP_ROUTE: Final = "http.route"
HTTP_RESPONSE_STATUS_CODE: Final = "http.response.status_code"
CLOUDEVENTS_EVENT_ID: Final = "cloudevents.event_id"
CLOUDEVENTS_EVENT_TYPE: Final = "cloudevents.event_type"
NETWORK_TRANSPORT: Final = "network.transport"
NETWORK_PROTOCOL_NAME: Final = "network.protocol.name"
TOOL_ERROR: Final = "tool_error"
"""The ``error.type`` of a tool that returned a result which says that it failed."""

# Content: written only on request.
GEN_AI_INPUT_MESSAGES: Final = "gen_ai.input.messages"
GEN_AI_OUTPUT_MESSAGES: Final = "gen_ai.output.messages"
GEN_AI_SYSTEM_INSTRUCTIONS: Final = "gen_ai.system_instructions"
GEN_AI_TOOL_DEFINITIONS: Final = "gen_ai.tool.definitions"
GEN_AI_TOOL_CALL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
GEN_AI_TOOL_CALL_RESULT: Final = "gen_ai.tool.call.result"
GEN_AI_RETRIEVAL_TOP_K: Final = "gen_ai.retrieval.top_k"
GEN_AI_RETRIEVAL_QUERY_TEXT: Final = "gen_ai.retrieval.query.text"

# From a draft of the conventions, for calls to guardrail services.
APPLY_GUARDRAIL: Final = "apply_guardrail"
"""The ``gen_ai.operation.name`` of a call to a guardrail service."""
GEN_AI_GUARDRAIL_COMPONENT_NAME: Final = "gen_ai.guardrail.component.name"
GEN_AI_GUARDRAIL_POLICY_ID: Final = "gen_ai.guardrail.policy.id"
GEN_AI_GUARDRAIL_POLICY_VERSION: Final = "gen_ai.guardrail.policy.version"
GEN_AI_GUARDRAIL_SOURCE: Final = "gen_ai.guardrail.source"
GEN_AI_GUARDRAIL_RESULT_TYPE: Final = "gen_ai.guardrail.result.type"
GEN_AI_GUARDRAIL_RESULT_VALUE: Final = "gen_ai.guardrail.result.value"
GEN_AI_GUARDRAIL_RESULT_REASON: Final = "gen_ai.guardrail.result.reason"
GEN_AI_GUARDRAIL_RISK_CATEGORY: Final = "gen_ai.guardrail.risk.category"
GEN_AI_GUARDRAIL_RISK_SCORE: Final = "gen_ai.guardrail.risk.score"

# From OpenInference (https://github.com/Arize-ai/openinference), for readers that know only these; opt-in.
INPUT_VALUE: Final = "input.value"
OUTPUT_VALUE: Final = "output.value"

AWS_BEDROCK_GUARDRAIL_ID: Final = "aws.bedrock.guardrail.id"

OPENAI_API_TYPE: Final = "openai.api.type"
OPENAI_REQUEST_SERVICE_TIER: Final = "openai.request.service_tier"
OPENAI_RESPONSE_SERVICE_TIER: Final = "openai.response.service_tier"
OPENAI_RESPONSE_SYSTEM_FINGERPRINT: Final = "openai.response.system_fingerprint"

# Names that other instrumentations use for the same facts; read from their spans, never written.
OPENINFERENCE_SPAN_KIND: Final = "openinference.span.kind"
OPENINFERENCE_MODEL: Final = "llm.model_name"
OPENINFERENCE_EMBEDDING_MODEL: Final = "embedding.model_name"
OPENINFERENCE_TOOL: Final = "tool.name"
OPENINFERENCE_INPUT_TOKENS: Final = "llm.token_count.prompt"
OPENINFERENCE_OUTPUT_TOKENS: Final = "llm.token_count.completion"
OPENINFERENCE_CACHE_READ_TOKENS: Final = "llm.token_count.prompt_details.cache_read"
OPENINFERENCE_CACHE_WRITE_TOKENS: Final = "llm.token_count.prompt_details.cache_write"
OPENINFERENCE_REASONING_TOKENS: Final = "llm.token_count.completion_details.reasoning"
TRACELOOP_SPAN_KIND: Final = "traceloop.span.kind"

# --------------------------------------------------------------------------- our own attributes

KIND: Final = "spanhook.kind"
STATUS: Final = "spanhook.status"
COVERAGE: Final = "spanhook.coverage"
TENANT_ID: Final = "spanhook.tenant.id"
RUN_ID: Final = "spanhook.run.id"
COST_USD: Final = "spanhook.cost.usd"
IN_HOOK: Final = "spanhook.in_hook"
MODIFIED: Final = "spanhook.modified"
OPERATION_NAME: Final = "spanhook.operation.name"
NAMES: Final = "spanhook.names"
STEP_NAME: Final = "spanhook.step.name"
RETRIEVER_NAME: Final = "spanhook.retriever.name"
MEMORY_NAMESPACE: Final = "spanhook.memory.namespace"
LIFECYCLE_PHASE: Final = "spanhook.agent.lifecycle.phase"
ITERATION_INDEX: Final = "spanhook.iteration.index"
DELEGATING_AGENT: Final = "spanhook.delegating_agent.name"
DECISION: Final = "spanhook.decision"
DECISION_HOOK: Final = "spanhook.decision.hook"
DECISION_REASON: Final = "spanhook.decision.reason"

USAGE_INPUT_TOKENS: Final = "spanhook.usage.input_tokens"
USAGE_OUTPUT_TOKENS: Final = "spanhook.usage.output_tokens"
USAGE_CACHE_READ_TOKENS: Final = "spanhook.usage.cache_read_tokens"
USAGE_CACHE_WRITE_TOKENS: Final = "spanhook.usage.cache_write_tokens"
USAGE_REASONING_TOKENS: Final = "spanhook.usage.reasoning_tokens"
USAGE_UNPRICED_TOKENS: Final = "spanhook.usage.unpriced_tokens"
USAGE_ESTIMATED: Final = "spanhook.usage.estimated"
USAGE_UNCOUNTED: Final = "spanhook.usage.uncounted"

# Attributes of metrics and log events only.
HOOK: Final = "spanhook.hook"
APPROVAL_ID: Final = "spanhook.approval.id"
APPROVAL_OUTCOME: Final = "spanhook.approval.outcome"
JOB_STATUS: Final = "spanhook.job.status"
CRON_ID: Final = "spanhook.cron.id"
CRON_OUTCOME: Final = "spanhook.cron.outcome"
BUDGET_UNIT: Final = "spanhook.budget.unit"
BUDGET_SPENT_TOKENS: Final = "spanhook.budget.spent.tokens"
BUDGET_SPENT_USD: Final = "spanhook.budget.spent.usd"
BUDGET_RESERVED_TOKENS: Final = "spanhook.budget.reserved.tokens"
BUDGET_RESERVED_USD: Final = "spanhook.budget.reserved.usd"
BUDGET_REQUESTED_TOKENS: Final = "spanhook.budget.requested.tokens"
BUDGET_REQUESTED_USD: Final = "spanhook.budget.requested.usd"
BUDGET_LIMIT_TOKENS: Final = "spanhook.budget.limit.tokens"
BUDGET_LIMIT_USD: Final = "spanhook.budget.limit.usd"
BUDGET_RESETS_AT: Final = "spanhook.budget.resets_at"
CIRCUIT_BREAKER_TARGET: Final = "spanhook.circuit_breaker.target"
EVENT: Final = "spanhook.event"
INJECTION_RULE: Final = "spanhook.injection.rule"
REMOTE_POLICY_OUTCOME: Final = "spanhook.remote_policy.outcome"
REDACTION_ENTITY: Final = "spanhook.redaction.entity"
MODE: Final = "spanhook.mode"
FAIL_MODE: Final = "spanhook.fail_mode"
TARGET: Final = "spanhook.target"
DURATION: Final = "spanhook.duration"
HOOK_DURATION: Final = "spanhook.hook.elapsed"
LLM_CALLS: Final = "spanhook.llm_calls"
TOOL_CALLS: Final = "spanhook.tool_calls"
DECISION_COUNTS: Final = "spanhook.decisions"
STATUS_CODE: Final = "spanhook.status_code"
USAGE_BY_MODEL: Final = "spanhook.usage.by_model"
TOKEN_BUCKET: Final = "spanhook.token.bucket"
COST_SOURCE: Final = "spanhook.cost.source"
LIBRARY: Final = "spanhook.library"
LIBRARY_VERSION: Final = "spanhook.library.version"
STATE: Final = "spanhook.state"
STATE_UNBOUND: Final = "unbound"
STATE_IMPORTABLE: Final = "importable"
COMPONENT: Final = "spanhook.component"
VERSION: Final = "spanhook.version"
HOOKS_DIGEST: Final = "spanhook.hooks.digest"
CONFIG_OUTCOME: Final = "spanhook.config.outcome"
CONFIG_SOURCE: Final = "spanhook.config.source"
CONFIG_NAME: Final = "spanhook.config.name"
CONFIG_REASON: Final = "spanhook.config.reason"
CONFIG_MESSAGE: Final = "spanhook.config.message"
CONFIG_CHANGES: Final = "spanhook.config.changes"
AUDIT_CHAIN: Final = "spanhook.audit.chain"
AUDIT_FILE: Final = "spanhook.audit.file"
AUDIT_SEQUENCE: Final = "spanhook.audit.sequence"
AUDIT_HASH: Final = "spanhook.audit.hash"
METRIC_OVERFLOW: Final = "otel.metric.overflow"
FORKED_PID: Final = "process.pid"
RUNTIME_VERSION: Final = "process.runtime.version"

# --------------------------------------------------------------------------- events

EXCEPTION_TYPE: Final = "exception.type"
EXCEPTION_MESSAGE: Final = "exception.message"
EXCEPTION_STACKTRACE: Final = "exception.stacktrace"

EVENT_EXCEPTION: Final = "exception"
EVENT_DECISION: Final = "spanhook.decision"
EVENT_RUN: Final = "spanhook.run"
EVENT_INTERNAL_EXCEPTION: Final = "spanhook.exception"
EVENT_CONFIGURATION: Final = "spanhook.configuration"
EVENT_AUDIT_RECORD: Final = "spanhook.audit.record"
EVENT_AUDIT_HEAD: Final = "spanhook.audit.head"
EVENT_INFERENCE_DETAILS: Final = "gen_ai.client.inference.operation.details"
EVENT_GUARDRAIL_RESULT: Final = "gen_ai.guardrail.result"
EVENT_CLIENT_EXCEPTION: Final = "gen_ai.client.operation.exception"

# --------------------------------------------------------------------------- metrics

METRIC_CLIENT_DURATION: Final = "gen_ai.client.operation.duration"
METRIC_TIME_TO_FIRST_CHUNK: Final = "gen_ai.client.operation.time_to_first_chunk"
METRIC_TIME_PER_OUTPUT_CHUNK: Final = "gen_ai.client.operation.time_per_output_chunk"
METRIC_CLIENT_TOKENS: Final = "gen_ai.client.token.usage"
METRIC_INFERENCE_DURATION: Final = "gen_ai.client.inference.duration"
METRIC_INFERENCE_TIME_TO_FIRST_CHUNK: Final = "gen_ai.client.inference.time_to_first_chunk"
METRIC_INFERENCE_TIME_PER_OUTPUT_CHUNK: Final = "gen_ai.client.inference.time_per_output_chunk"
METRIC_INFERENCE_INPUT_TOKENS: Final = "gen_ai.client.inference.operation.input_tokens"
METRIC_INFERENCE_OUTPUT_TOKENS: Final = "gen_ai.client.inference.operation.output_tokens"
METRIC_INFERENCE_USAGE_INPUT: Final = "gen_ai.client.inference.usage.input_tokens"
METRIC_INFERENCE_USAGE_OUTPUT: Final = "gen_ai.client.inference.usage.output_tokens"
METRIC_INFERENCE_USAGE_CACHE_READ: Final = "gen_ai.client.inference.usage.cache_read.input_tokens"
METRIC_INFERENCE_USAGE_CACHE_WRITE: Final = "gen_ai.client.inference.usage.cache_write.input_tokens"
METRIC_INFERENCE_USAGE_REASONING: Final = "gen_ai.client.inference.usage.reasoning.output_tokens"
METRIC_AGENT_DURATION: Final = "gen_ai.invoke_agent.duration"
METRIC_AGENT_INFERENCE_CALLS: Final = "gen_ai.invoke_agent.inference_calls"
METRIC_AGENT_TOOL_CALLS: Final = "gen_ai.invoke_agent.tool_calls"
METRIC_TOOL_DURATION: Final = "gen_ai.execute_tool.duration"
METRIC_WORKFLOW_DURATION: Final = "gen_ai.invoke_workflow.duration"
METRIC_MCP_CLIENT_DURATION: Final = "mcp.client.operation.duration"
METRIC_MCP_SERVER_DURATION: Final = "mcp.server.operation.duration"
METRIC_RUN_LLM_CALLS: Final = "spanhook.run.llm_calls"
METRIC_RUN_TOOL_CALLS: Final = "spanhook.run.tool_calls"
METRIC_TOKENS: Final = "spanhook.usage.tokens"
METRIC_COST: Final = "spanhook.usage.cost"
METRIC_UNPRICED: Final = "spanhook.usage.unpriced"
METRIC_UNCOUNTED: Final = "spanhook.usage.uncounted_calls"
METRIC_DECISIONS: Final = "spanhook.hook.decisions"
METRIC_HOOK_TIME: Final = "spanhook.hook.time"
METRIC_HOOK_DURATION: Final = "spanhook.hook.duration"
METRIC_STREAM_HELD: Final = "spanhook.stream.held"
METRIC_INFO: Final = "spanhook.info"
METRIC_POINTS: Final = "spanhook.points"
METRIC_INTERNAL_ERRORS: Final = "spanhook.internal.errors"
METRIC_UNGATED_TOOLS: Final = "spanhook.tools.ungated"
METRIC_DROPPED: Final = "spanhook.telemetry.dropped"
METRIC_CONFIG_REFUSED: Final = "spanhook.config.refused"
METRIC_AUDIT_RECORDS: Final = "spanhook.audit.records"
METRIC_AUDIT_FAILURES: Final = "spanhook.audit.failures"
METRIC_INJECTION_FINDINGS: Final = "spanhook.injection.findings"
METRIC_REDACTION_FINDINGS: Final = "spanhook.redaction.findings"
METRIC_ATTRIBUTED_OPERATIONS: Final = "spanhook.attributed.operations"
METRIC_ATTRIBUTED_TOKENS: Final = "spanhook.attributed.tokens"
METRIC_ATTRIBUTED_COST: Final = "spanhook.attributed.cost"
METRIC_APPROVAL_REQUESTS: Final = "spanhook.approval.requests"
METRIC_APPROVAL_WAIT: Final = "spanhook.approval.wait"
METRIC_APPROVAL_PENDING: Final = "spanhook.approval.pending"
METRIC_APPROVAL_AGE: Final = "spanhook.approval.age"
METRIC_JOB_DURATION: Final = "spanhook.job.duration"
METRIC_JOB_WAIT: Final = "spanhook.job.wait"
METRIC_CRON_TICKS: Final = "spanhook.cron.ticks"
METRIC_BUDGET_TOKENS: Final = "spanhook.budget.tokens"
METRIC_BUDGET_COST: Final = "spanhook.budget.cost"
METRIC_BUDGET_UTILIZATION: Final = "spanhook.budget.utilization"
METRIC_BUDGET_EXPIRED: Final = "spanhook.budget.expired"
METRIC_BUDGET_UNSETTLED: Final = "spanhook.budget.unsettled"
METRIC_CIRCUIT_BREAKER_OPEN: Final = "spanhook.circuit_breaker.open"
METRIC_REMOTE_POLICY_DURATION: Final = "spanhook.remote_policy.duration"
METRIC_REMOTE_POLICY_ERRORS: Final = "spanhook.remote_policy.errors"
METRIC_REMOTE_POLICY_OPEN: Final = "spanhook.remote_policy.open"
METRIC_CONTROL_PLANE_VERSION: Final = "spanhook.control_plane.version"
METRIC_CONTROL_PLANE_AGE: Final = "spanhook.control_plane.age"
METRIC_CONTROL_PLANE_ERRORS: Final = "spanhook.control_plane.errors"
METRIC_CONTROL_PLANE_MISSING: Final = "spanhook.control_plane.missing"

# Bucket boundaries from the GenAI metrics conventions: seconds doubling, tokens times four.
DURATION_BUCKETS: Final = tuple(0.01 * 2**n for n in range(14))
TOKEN_BUCKETS: Final = tuple(4.0**n for n in range(14))
AGENT_DURATION_BUCKETS: Final = tuple(0.1 * 2**n for n in range(13))
MCP_DURATION_BUCKETS: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
CALL_BUCKETS: Final = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0)

# Replaces the values of an attribute that would otherwise be unbounded.
OTHER: Final = "_other"

# --------------------------------------------------------------------------- sets of the conventions' names

OPT_IN: Final = "OTEL_SEMCONV_STABILITY_OPT_IN"
"""The environment variable by which an application chooses for all its instrumentations: a comma-separated list."""
OPT_IN_NEWEST: Final = "gen_ai_latest_experimental"
OPT_IN_BOTH: Final = "gen_ai_latest_experimental/dup"

SCHEMA_URL: Final = "https://opentelemetry.io/schemas/1.41.0"
"""The last published schema with GenAI names; no schema has the newest names yet."""

NameSet = Literal["v1.41", "newest"]

SETS: Final[Mapping[str, NameSet]] = {
    METRIC_CLIENT_TOKENS: "v1.41",
    METRIC_TIME_TO_FIRST_CHUNK: "v1.41",
    METRIC_TIME_PER_OUTPUT_CHUNK: "v1.41",
    METRIC_INFERENCE_DURATION: "newest",
    METRIC_INFERENCE_TIME_TO_FIRST_CHUNK: "newest",
    METRIC_INFERENCE_TIME_PER_OUTPUT_CHUNK: "newest",
    METRIC_INFERENCE_INPUT_TOKENS: "newest",
    METRIC_INFERENCE_OUTPUT_TOKENS: "newest",
    METRIC_INFERENCE_USAGE_INPUT: "newest",
    METRIC_INFERENCE_USAGE_OUTPUT: "newest",
    METRIC_INFERENCE_USAGE_CACHE_READ: "newest",
    METRIC_INFERENCE_USAGE_CACHE_WRITE: "newest",
    METRIC_INFERENCE_USAGE_REASONING: "newest",
    GEN_AI_USAGE_CACHE_CREATION_INPUT_TOKENS: "v1.41",
    EVENT_EXCEPTION: "v1.41",
    EVENT_CLIENT_EXCEPTION: "newest",
}
"""Names that only one of the sets has; all others are in both.

Two names are written with either set. The newest set keeps ``METRIC_CLIENT_DURATION`` for all calls except inference.
``GEN_AI_USAGE_CACHE_WRITE_INPUT_TOKENS`` is its name for ``GEN_AI_USAGE_CACHE_CREATION_INPUT_TOKENS``; today's readers
differ in which of the two they know.
"""
NOT_OF_AGENTS: Final = frozenset((GEN_AI_AGENT_ID, GEN_AI_PROVIDER_NAME))
"""What the newest conventions removed from agent spans."""
