from collections.abc import Generator

import pytest

from spanhook.server import LOCAL, KeyStore
from spanhook.server.pages.entrance import own_page
from tests.server.browsing import Browser
from tests.server.serving import Served, served


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    with served(tmp_path_factory.mktemp("entrance"), api_keys=True, failures="1000/minute") as one:
        yield one


@pytest.fixture(scope="module")
def key(server: Served) -> str:
    return server.key("acme", "runs:read", "hooks:read")["Authorization"].removeprefix("Bearer ")


def logged_in(server: Served, key: str, to: str = "/hooks") -> Browser:
    browser = Browser(server)
    browser.open(to)
    browser.send("/login", key=key, to=to)
    return browser


def test_whoever_is_not_logged_in_is_asked_for_a_key_and_gets_where_they_wanted(server: Served, key: str) -> None:
    browser = Browser(server)
    assert "Log in" in browser.open("/runs?search=a")
    assert browser.path == "/login?to=%2Fruns%3Fsearch%3Da"
    assert "not valid" in browser.send("/login", key="shk_000000000000_" + "a" * 43, to="/runs?search=a")
    assert browser.page.status_code == 401
    assert "Log out" in browser.send("/login", key=f" {key} ", to="/runs?search=a")
    assert browser.path == "/runs?search=a"


def test_the_cookie_is_for_our_pages_alone_and_is_not_the_key(server: Served, key: str) -> None:
    browser = Browser(server)
    browser.open("/login")
    response = browser.client.post("/login", data={"csrf": browser.token, "key": key})
    assert (response.status_code, response.headers["location"]) == (303, "/runs")
    cookie = response.headers["set-cookie"]
    assert cookie.startswith("spanhook_session=")
    assert all(part in cookie for part in ("HttpOnly", "SameSite=strict", "Path=/", "Max-Age=43200"))
    assert "Secure" not in cookie  # on this machine only
    assert key.split("_", 2)[2] not in cookie  # the secret, which may have an underscore of its own
    assert browser.client.get("/v1/runs").status_code == 401  # the API takes no cookies
    behind = browser.client.post("/login", data={"csrf": browser.token, "key": key}, headers={"Host": "127.0.0.2"})
    assert behind.status_code == 421


def test_pages_show_and_serve_what_the_key_may(server: Served, key: str) -> None:
    browser = logged_in(server, key)
    assert "acme" in browser.text
    for name, there in (("Runs", True), ("Hooks", True), ("Usage", False), ("Approvals", False)):
        assert (f">{name}</a>" in browser.page.text) is there
    assert "usage:read" in browser.open("/usage")
    assert browser.page.status_code == 403


def test_a_session_ends_with_the_key_and_by_logging_out(server: Served) -> None:
    text = server.key("acme", "hooks:read")["Authorization"].removeprefix("Bearer ")
    first, second = logged_in(server, text), logged_in(server, text)
    first.send("/logout")
    assert first.path == "/login"
    assert "Log in" in first.open("/hooks")
    assert second.open("/hooks")
    assert second.path == "/hooks"
    server.with_database(lambda one: KeyStore(one).revoke(LOCAL, text.split("_")[1]))
    assert "Log in" in second.open("/hooks")


def test_forms_of_others_do_not_log_anybody_in_or_out(server: Served, key: str) -> None:
    browser = logged_in(server, key)
    for path, headers in (("/login", {}), ("/logout", {}), ("/logout", {"Origin": "https://evil.example"})):
        assert browser.client.post(path, data={"key": key, "csrf": "0" * 64}, headers=headers).status_code == 403
    assert browser.open("/hooks")
    assert browser.path == "/hooks"


@pytest.mark.parametrize(
    "path",
    ["", "//evil.example", "https://evil.example", "/\\evil.example", "/login", "/v1/hooks", "/runs\n", "evil", "/é"],
)
def test_where_to_go_is_a_page_of_ours(path: str) -> None:
    assert own_page(path) == "/runs"


def test_pages_of_ours_stay(server: Served) -> None:
    assert own_page("/runs/a?b=//c") == "/runs/a?b=//c"
    assert own_page("/hooks/new") == "/hooks/new"


@pytest.mark.parametrize(
    ("name", "kind"), [("pages.css", "text/css"), ("pages.js", "text/javascript"), ("icon.svg", "image/svg+xml")]
)
def test_files_are_served_to_everybody(server: Served, name: str, kind: str) -> None:
    response = server.client.get(f"/static/{name}")
    assert (response.status_code, response.headers["content-type"].partition(";")[0]) == (200, kind)
    assert "://" not in response.text.replace("http://www.w3.org/2000/svg", "")  # no other host
    assert server.client.get("/static/../app.py").status_code in (401, 404)


def test_without_authentication_pages_are_there_at_once(tmp_path_factory: pytest.TempPathFactory) -> None:
    with served(tmp_path_factory.mktemp("open")) as one:
        browser = Browser(one)
        assert "No runs yet" in browser.open("/")
        assert browser.path == "/runs"
        assert browser.open("/login")
        assert browser.path == "/runs"
        assert "Log out" not in browser.text
