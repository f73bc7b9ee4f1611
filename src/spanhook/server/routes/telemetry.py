"""OTLP over HTTP: ``/v1/traces``, ``/v1/metrics`` and ``/v1/logs``, as protobuf or JSON, compressed with gzip or not.

A response says that everything that was accepted is stored. The tenant of the key or token is whose it is, whatever the
telemetry says itself.
"""

import json
from typing import Annotated, Any, Literal, cast

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from spanhook.server.needs import Needs, services_of
from spanhook.server.problems import ALWAYS, ON_CHANGES, Problem, documented
from spanhook.server.scopes import Principal
from spanhook.server.services import Services
from spanhook.store.control import FullError, Kept, MalformedError, TooLargeError, UnsupportedError

router = APIRouter(prefix="/v1", tags=["telemetry"])

Signal = Literal["traces", "metrics", "logs"]
Serving = Annotated[Services, Depends(services_of)]
Sender = Annotated[Principal, Depends(Needs("telemetry:write"))]
_PROTOBUF = "application/x-protobuf"
_RESPONSES: dict[Signal, tuple[Any, str]] = {
    "traces": (ExportTraceServiceResponse, "rejected_spans"),
    "metrics": (ExportMetricsServiceResponse, "rejected_data_points"),
    "logs": (ExportLogsServiceResponse, "rejected_log_records"),
}
_DOCUMENTED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Everything that was accepted is stored.",
        "content": {
            "application/json": {"schema": {"type": "object"}},
            _PROTOBUF: {"schema": {"type": "string", "format": "binary"}},
        },
    },
    **documented(*ALWAYS, *ON_CHANGES),
}
_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": {"type": "object"}},
            _PROTOBUF: {"schema": {"type": "string", "format": "binary"}},
        },
    }
}


@router.post("/traces", responses=_DOCUMENTED, openapi_extra=_BODY, response_class=Response)
async def take_traces(request: Request, principal: Sender, services: Serving) -> Response:
    """Take spans: an ``ExportTraceServiceRequest``."""
    return await _take("traces", request, principal, services)


@router.post("/metrics", responses=_DOCUMENTED, openapi_extra=_BODY, response_class=Response)
async def take_metrics(request: Request, principal: Sender, services: Serving) -> Response:
    """Take metrics: an ``ExportMetricsServiceRequest``."""
    return await _take("metrics", request, principal, services)


@router.post("/logs", responses=_DOCUMENTED, openapi_extra=_BODY, response_class=Response)
async def take_logs(request: Request, principal: Sender, services: Serving) -> Response:
    """Take log records: an ``ExportLogsServiceRequest``."""
    return await _take("logs", request, principal, services)


async def _take(signal: Signal, request: Request, principal: Principal, services: Services) -> Response:
    content_type = request.headers.get("content-type", "")
    try:
        kept = await services.ingestor.take(
            signal,
            await request.body(),
            content_type=content_type,
            content_encoding=request.headers.get("content-encoding", ""),
            tenant=principal.tenant,
        )
    except MalformedError as error:
        raise Problem("malformed_request", str(error)) from None
    except TooLargeError as error:
        raise Problem("body_too_large", str(error)) from None
    except UnsupportedError as error:
        raise Problem("media_type", str(error)) from None
    except FullError as error:
        raise Problem("rate_limited", str(error), headers={"Retry-After": str(error.retry_after_s)}) from None
    return _answer(signal, kept, as_json="json" in content_type)


def _answer(signal: Signal, kept: Kept, *, as_json: bool) -> Response:
    made, name = _RESPONSES[signal]
    if as_json:
        parts = name.split("_")
        partial = {parts[0] + "".join(map(str.capitalize, parts[1:])): str(kept.rejected), "errorMessage": kept.message}
        return Response(json.dumps({"partialSuccess": partial} if kept.rejected else {}), media_type="application/json")
    answer = made()
    if kept.rejected:
        setattr(answer.partial_success, name, kept.rejected)
        answer.partial_success.error_message = kept.message
    return Response(cast("bytes", answer.SerializeToString()), media_type=_PROTOBUF)
