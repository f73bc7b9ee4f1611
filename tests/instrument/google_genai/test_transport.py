"""Which HTTP library carries a request does not matter, nor how its arguments are passed."""

from importlib.util import find_spec
from typing import Any

import pytest
from google.genai import Client, types

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.google_genai_ways import CONTENT, MODEL, collected
from spanhook.cli.conformance.loops import run
from spanhook.cli.conformance.servers.google_server import GoogleServer
from spanhook.instrument.google_genai.transport import method_in, model_in, with_model
from spanhook.testing import recorder


@pytest.mark.parametrize(
    ("path", "model", "method", "other"),
    [
        ("models/a-1:generateContent", "a-1", "generateContent", "models/b:generateContent"),
        ("/models/a:embedContent?x=1", "a", "embedContent", "/models/b:embedContent?x=1"),
        ("publishers/google/models/a:predict", "a", "predict", "publishers/google/models/b:predict"),
        ("projects/p/locations/l/publishers/x/models/a:predict", "a", "predict", "projects/p/locations/l/publishers/x/models/b:predict"),
        ("tunedModels/a:generateContent", "tunedModels/a", "generateContent", "models/b:generateContent"),
        ("projects/p/locations/l/endpoints/7:predict", "projects/p/locations/l/endpoints/7", "predict", "models/b:predict"),
        ("models", "", "", ""),
        ("files/a?b=c:d", "", "", ""),
    ],
)  # fmt: skip
def test_paths(path: str, model: str, method: str, other: str) -> None:
    assert (model_in(path), method_in(path)) == (model, method)
    if other:
        assert with_model(path, "b") == other
        assert (
            with_model(path, "tunedModels/c")
            == f"tunedModels/c:{method}{path.partition('?')[1]}{path.partition('?')[2]}"
        )


def test_arguments_by_name(client: Client, server: GoogleServer) -> None:
    hooks = Hooks()
    text = {"role": "user", "parts": [{"type": "text", "content": "***"}]}
    hooks.before("llm.call")(lambda op: op.replace(messages=[text], model="other"))
    body: Any = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}], "_url": {"model": "x"}}
    with recorder(hooks):
        client._api_client.request(http_method="post", path=f"models/{MODEL}:generateContent", request_dict=body)
    assert server.requests[0].body == {"contents": [{"role": "user", "parts": [{"text": "***"}]}]}
    assert "models/other:generateContent" in server.requests[0].path


def test_the_address_of_a_request(client: Client, server: GoogleServer) -> None:
    config = types.GenerateContentConfig(http_options=types.HttpOptions(base_url=f"{server.origin}/elsewhere"))
    with recorder() as seen:
        client.models.generate_content(model=MODEL, contents="hi", config=config)
        [node] = seen.tree()
    assert node["attributes"]["server.port"] == server.port
    assert server.requests[0].path.startswith("/elsewhere/")


if find_spec("aiohttp") is not None:  # it comes with an extra of the SDK

    def test_over_aiohttp(server: GoogleServer) -> None:
        hooks, refused = Hooks(), False

        @hooks.before("llm.call")
        def gate(op: Operation) -> None:
            if refused:
                raise Reject("not today")

        async def ask() -> list[Any]:
            api = Client(api_key="test", http_options=types.HttpOptions(base_url=server.url)).aio
            try:
                stream = await api.models.generate_content_stream(**CONTENT)
                return [await api.models.generate_content(**CONTENT), *await collected(stream)]
            finally:
                await api.aclose()

        with recorder(hooks) as seen:
            assert [one.text for one in run(ask())] == ["hello there friend", "hello", " there", " friend"]
            refused = True
            with pytest.raises(Reject):
                run(ask())
        assert [op.status for op in seen.operations] == ["success", "success", "rejected"]
        assert len(server.requests) == 2
