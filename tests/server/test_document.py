from collections.abc import Generator
from typing import Any

import jsonschema
import pytest

from spanhook.server.guard import PUBLIC
from tests.server.serving import SECRET, TOKENS, Served, served, token


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPANHOOK_TEST_SECRET", SECRET)
        limits: dict[str, Any] = {"rate": "1000000/minute", "failures": "1000000/minute"}
        with served(tmp_path_factory.mktemp("document"), tokens=TOKENS, **limits) as one:
            yield one


@pytest.fixture(scope="module")
def document(server: Served) -> dict[str, Any]:
    return server.client.get("/openapi.json").json()


def test_every_error_is_a_problem(document: dict[str, Any]) -> None:
    problem = {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            for status, response in operation["responses"].items():
                if status >= "4":
                    assert response["content"] == {"application/problem+json": problem}, (method, path, status)
            asked = {"400", "401", "403", "405", "421", "422", "429", "500", "503"}
            assert path in PUBLIC or asked <= operation["responses"].keys(), (method, path)
            assert bool(operation.get("security")) == (path not in PUBLIC)
            assert operation["description"]
    assert "HTTPValidationError" not in document["components"]["schemas"]


def test_a_problem_is_as_the_document_says(server: Served, document: dict[str, Any]) -> None:
    schema = {"$ref": "#/components/schemas/ProblemDetails", "components": document["components"]}
    headers = {"Authorization": f"Bearer {token('acme', ['hooks:manage'])}"}
    for response in (
        server.client.get("/v1/hooks"),
        server.client.get("/v1/nothing", headers=headers),
        server.client.post("/v1/hooks", json={"priority": -1}, headers=headers),
        server.client.get("/v1/runs", headers=headers),
    ):
        assert response.status_code >= 400
        jsonschema.validate(response.json(), schema)
