"""Whether the server lives, whether it can serve, and its metrics."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends
from fastapi.responses import Response
from pydantic import BaseModel

from spanhook.server.measuring import CONTENT_TYPE
from spanhook.server.needs import Needs, services_of
from spanhook.server.problems import ALWAYS, documented
from spanhook.server.scopes import Principal
from spanhook.server.services import Services

router = APIRouter(tags=["health"])
_PUBLIC = documented("malformed_request", "method_not_allowed", "wrong_host", "internal")


class Health(BaseModel):
    """The server answers."""

    status: Literal["ok"] = "ok"


@router.get("/healthz", responses=_PUBLIC)
async def healthz() -> Health:
    """Whether the server lives. It does not ask the database."""
    return Health()


@router.get("/readyz", responses={**_PUBLIC, **documented("unavailable")})
async def readyz(services: Annotated[Services, Depends(services_of)]) -> Health:
    """Whether the server can serve: whether its database answers."""
    await services.database.ping()
    return Health()


@router.get("/metrics", responses=documented(*ALWAYS, "operators_only"), response_class=Response)
async def metrics(
    services: Annotated[Services, Depends(services_of)],
    _principal: Annotated[Principal, Depends(Needs("usage:read", operator=True))],
) -> Response:
    """The server's own metrics, in the format of Prometheus. For operators."""
    return Response(services.measures.text(), media_type=CONTENT_TYPE)
