"""Calls that hooks make to guardrail and policy services, as separate spans.

The names come from a draft of the conventions for services with a guardrail API. By that draft, hooks are not such
services, and a service's result implies no decision. So a hook's decision is still recorded as ``spanhook.decision``.
"""

from types import TracebackType
from typing import Any, Self

from opentelemetry.context import Context
from opentelemetry.trace import INVALID_SPAN, Span, SpanKind, Status, StatusCode

from spanhook import semconv
from spanhook.errors import OperationError, Reject
from spanhook.model import described, encodable, exception_name, make_encodable
from spanhook.telemetry.otel_context import get_context, set_context
from spanhook.telemetry.pipeline import telemetry
from spanhook.telemetry.spans import context_with


class Guardrail:
    """The span of one call; see ``guardrail``."""

    __slots__ = ("_attributes", "_before", "_over", "_policy", "_span")

    def __init__(self, attributes: dict[str, Any], policy: dict[str, Any]) -> None:
        self._attributes, self._policy = attributes, policy
        self._before: Context | None = None
        self._span: Span = INVALID_SPAN
        self._over = False

    def __enter__(self) -> Self:
        if self._before is not None:
            raise OperationError(
                "a guardrail block can be entered only once; call guardrail() again for each call to the service"
            )
        self._before = before = get_context()
        name = f"{semconv.APPLY_GUARDRAIL} {self._attributes[semconv.GEN_AI_GUARDRAIL_COMPONENT_NAME]}"
        self._span = telemetry.opener.open(name, before, SpanKind.CLIENT, self._attributes)
        set_context(context_with(self._span, before))
        return self

    def result(
        self,
        value: str,
        *,
        type: str = "",
        reason: str = "",
        category: str = "",
        score: float | None = None,
        policy_id: str = "",
        policy_version: str = "",
    ) -> None:
        """Record a result of the service, as an event of the span. There may be several.

        Args:
            value: The result as the service names it, such as ``"flagged"``.
            type: The type of the result, such as ``"categorical"``.
            reason: Why, from a small set of words; never the checked content.
            category: The risk, such as ``"pii"``.
            score: The risk score, on the service's own scale.
            policy_id, policy_version: The policy that has decided, if only the answer says so.

        Raises:
            OperationError: The block is over.
        """
        if self._over or self._before is None:
            raise OperationError("result() was called outside the guardrail block; call it while the block is active")
        told = {
            semconv.GEN_AI_GUARDRAIL_RESULT_VALUE: value,
            semconv.GEN_AI_GUARDRAIL_RESULT_TYPE: type,
            semconv.GEN_AI_GUARDRAIL_RESULT_REASON: reason,
            semconv.GEN_AI_GUARDRAIL_RISK_CATEGORY: category,
            semconv.GEN_AI_GUARDRAIL_RISK_SCORE: None if score is None else float(score),
            semconv.GEN_AI_GUARDRAIL_POLICY_ID: policy_id,
            semconv.GEN_AI_GUARDRAIL_POLICY_VERSION: policy_version,
        }
        attributes = {**self._policy, **{name: one for name, one in told.items() if one not in ("", None)}}
        make_encodable(attributes)
        self._span.add_event(semconv.EVENT_GUARDRAIL_RESULT, attributes)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._over = True
        try:
            if isinstance(error, Exception) and not isinstance(error, Reject):  # a Reject is the hook's own decision
                self._span.set_attribute(semconv.ERROR_TYPE, exception_name(error))
                said = described(error, in_full=telemetry.error_messages)
                self._span.set_status(Status(StatusCode.ERROR, encodable(said)))
            self._span.end()
        finally:
            if self._before is not None:
                set_context(self._before)


def guardrail(
    name: str,
    *,
    policy_id: str = "",
    policy_version: str = "",
    source: str = "",
    server_address: str = "",
    server_port: int | None = None,
) -> Guardrail:
    """Record a hook's call to a guardrail or policy service as a span ``apply_guardrail {name}``; use it with ``with``.

    ::

        @hooks.before("llm.call")
        async def moderated(op: Operation) -> None:
            with spanhook.guardrail("moderation", policy_id="pii", server_address="policy.internal") as asked:
                answer = await client.check(op.request.messages)
                asked.result(answer.verdict, category=answer.category, score=answer.score)
            if answer.verdict == "flagged":
                raise Reject("personal data", status_code=422)

    Args:
        name: The service's name.
        policy_id, policy_version: The policy that the service applies.
        source: Where the policy comes from.
        server_address, server_port: The address of the service.

    An exception that leaves the block makes the span an error; a ``Reject`` does not.
    """
    attributes: dict[str, Any] = {
        semconv.GEN_AI_OPERATION_NAME: semconv.APPLY_GUARDRAIL,
        semconv.GEN_AI_GUARDRAIL_COMPONENT_NAME: name,
    }
    if server_address:
        attributes[semconv.SERVER_ADDRESS] = server_address
        if server_port is not None:
            attributes[semconv.SERVER_PORT] = server_port
    make_encodable(attributes)
    policy = {
        semconv.GEN_AI_GUARDRAIL_POLICY_ID: policy_id,
        semconv.GEN_AI_GUARDRAIL_POLICY_VERSION: policy_version,
        semconv.GEN_AI_GUARDRAIL_SOURCE: source,
    }
    return Guardrail(attributes, {name: told for name, told in policy.items() if told})
