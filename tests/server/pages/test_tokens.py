from collections.abc import Generator

import pytest

from spanhook.server.pages import tokens
from tests.server.browsing import Browser
from tests.server.serving import Served, served


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    with served(tmp_path_factory.mktemp("tokens"), allowed_hosts=["spanhook.internal"]) as one:
        yield one


def scope(cookies: str = "") -> dict[str, list[tuple[bytes, bytes]]]:
    return {"headers": [(b"cookie", cookies.encode())] if cookies else []}


def test_a_token_holds_with_its_cookie_alone() -> None:
    made = tokens.of(scope())
    assert made.cookie
    assert tokens.holds(scope(f"{tokens.COOKIE}={made.cookie}"), made.token)
    assert not tokens.holds(scope(f"{tokens.COOKIE}=other"), made.token)
    assert not tokens.holds(scope(), made.token)
    assert not tokens.holds(scope(f"{tokens.COOKIE}={made.cookie}"), "")
    assert not tokens.holds(scope(f"{tokens.COOKIE}={made.cookie}"), "é\ud800")


def test_a_token_is_the_sessions_if_there_is_one() -> None:
    with_session = scope(f"{tokens.COOKIE}=a; spanhook_session=b")
    made = tokens.of(with_session)
    assert made.cookie == ""
    assert made.token == tokens.of(scope("spanhook_session=b")).token != tokens.of(scope(f"{tokens.COOKIE}=a")).token


def test_cookies_are_never_sent_in_the_clear_but_on_this_machine(server: Served) -> None:
    client = Browser(server).client
    assert "Secure" not in client.get("/runs").headers["set-cookie"]
    client.cookies.clear()
    given = client.get("/runs", headers={"Host": "spanhook.internal"}).headers["set-cookie"]
    assert all(part in given for part in ("Secure", "HttpOnly", "SameSite=strict"))
