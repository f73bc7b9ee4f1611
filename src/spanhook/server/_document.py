"""The OpenAPI document: what FastAPI makes of the routes, with problem details and how callers authenticate."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from spanhook.server.guard import PUBLIC
from spanhook.server.problems import ProblemDetails

_UNUSED = ("HTTPValidationError", "ValidationError")


def document(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document of an application, made once."""
    if app.openapi_schema is None:
        app.openapi_schema = _made(app)
    return app.openapi_schema


def _made(app: FastAPI) -> dict[str, Any]:
    made = get_openapi(title=app.title, version=app.version, summary=app.summary, routes=app.routes)
    components = made.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    for name in _UNUSED:
        schemas.pop(name, None)
    problem = ProblemDetails.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas.update(problem.pop("$defs", {}))
    schemas["ProblemDetails"] = problem
    components["securitySchemes"] = {
        "bearer": {"type": "http", "scheme": "bearer", "description": "An API key, or a token (JWT)."}
    }
    for path, methods in made["paths"].items():
        for operation in methods.values():
            if path not in PUBLIC:
                operation["security"] = [{"bearer": []}]
    return made
