import socket
from collections.abc import Generator

import httpx
import pytest

from spanhook.server.guard import HEADERS, plain
from tests.server.serving import Served, served


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    settings = {"allowed_origins": ["https://admin.example"], "allowed_hosts": ["spanhook.internal"]}
    with served(tmp_path_factory.mktemp("guard"), max_body=2000, **settings) as one:
        yield one


CHANGE = "/v1/hooks"


def code(response: httpx.Response) -> str:
    return response.json().get("code", "")


@pytest.mark.parametrize("path", ["/healthz", "/v1/nothing", "/metrics", "/openapi.json"])
def test_every_response_has_the_headers_that_keep_browsers_out(server: Served, path: str) -> None:
    headers = server.client.get(path).headers
    assert {name: headers.get(name) for name in HEADERS} == HEADERS
    assert "server" not in headers


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "", "a@localhost", "localhost/x", "::1"],
)
def test_the_server_answers_to_its_own_names_only(server: Served, host: str) -> None:
    response = server.client.get("/healthz", headers={"Host": host})
    assert response.status_code == 421
    assert code(response) == "wrong_host"


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:80", "spanhook.internal", "localhost."]
)
def test_the_port_and_the_case_of_a_name_do_not_matter(server: Served, host: str) -> None:
    assert server.client.get("/healthz", headers={"Host": host}).status_code == 200


def raw(server: Served, request: bytes) -> bytes:
    host, _, port = server.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(request)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def test_two_hosts_are_none(server: Served) -> None:
    answer = raw(server, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n")
    assert answer.startswith((b"HTTP/1.1 421", b"HTTP/1.1 400"))


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "https://127.0.0.1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "anything"},
        {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"},
    ],
)
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_pages_of_others_change_nothing(server: Served, method: str, headers: dict[str, str]) -> None:
    response = server.client.request(method, CHANGE, headers=headers, json={})
    assert response.status_code == 403
    assert code(response) == "cross_site"


def test_own_pages_allowed_ones_and_programs_may_change_things(server: Served) -> None:
    for headers in (
        {"Origin": server.url, "Sec-Fetch-Site": "same-origin"},
        {"Origin": "https://admin.example", "Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "none"},
        {},
    ):
        assert code(server.client.post("/v1/nothing", headers=headers, json={})) == "not_found"


def test_pages_of_others_may_not_read_either(server: Served) -> None:
    """A browser lets them send the request, but not read the answer: there is no header that would allow it."""
    response = server.client.get("/healthz", headers={"Origin": "https://evil.example"})
    assert not [name for name in response.headers if name.startswith("access-control")]


@pytest.mark.parametrize(
    "given", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "json"]
)
def test_changes_are_json(server: Served, given: str) -> None:
    response = server.client.post(CHANGE, headers={"Content-Type": given}, content=b"{}")
    assert response.status_code == 415
    assert code(response) == "media_type"


def test_an_empty_change_is_json_too(server: Served) -> None:
    assert code(server.client.post(CHANGE)) == "media_type"


def test_a_body_has_a_limit_whatever_it_says_of_its_length(server: Served) -> None:
    json = {"Content-Type": "application/json"}
    assert server.client.post(CHANGE, headers=json, content=b"x" * 2001).status_code == 413
    response = server.client.post(CHANGE, headers=json, content=(b"x" * 1000 for _ in range(3)))
    assert (response.status_code, code(response)) == (413, "body_too_large")
    assert server.client.post("/v1/nothing", headers=json, content=b"x" * 2000).status_code == 404


def test_a_slash_at_the_end_makes_no_difference(server: Served) -> None:
    for path in ("/healthz", "/readyz", "/v1/nothing"):
        assert server.client.get(path).text == server.client.get(f"{path}/").text
    assert (plain("/"), plain("/a/"), plain("/a"), plain("//")) == ("/", "/a", "/a", "/")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"])
def test_what_cannot_be_done_is_a_problem(server: Served, method: str) -> None:
    response = server.client.request(method, "/healthz", json={})
    assert (response.status_code, code(response)) == (405, "method_not_allowed")
    assert response.headers["content-type"] == "application/problem+json"
    assert response.headers["allow"] == "GET"


def test_a_websocket_is_refused(server: Served) -> None:
    upgrade = b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: a\r\nSec-WebSocket-Version: 13\r\n"
    answer = raw(server, b"GET /v1/nothing HTTP/1.1\r\nHost: localhost\r\n" + upgrade + b"Connection: close\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 4")
