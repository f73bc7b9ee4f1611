"""A browser, the server and an OpenID provider, over real HTTP."""

import base64
import json
import os
import re
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm

from spanhook.server import Login, Tokens, audit, openid
from spanhook.store import ApprovalRequest, open_approvals
from tests.ports import free_port
from tests.server.browsing import Browser
from tests.server.provider import CLIENT, SECRET, Provider, provided, rsa_key
from tests.server.serving import Served, served

VARIABLE = "SPANHOOK_TEST_OPENID_SECRET"


@pytest.fixture(scope="module")
def running() -> Generator[Provider]:
    with provided() as one:
        yield one


@pytest.fixture(scope="module", autouse=True)
def patient_server() -> Generator[None]:
    """It waits for its provider, which is in this process, too, however busy the machine is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(openid, "_TIMEOUT_S", 60.0)
        yield


@pytest.fixture
def provider(running: Provider) -> Provider:
    running.reset()
    return running


@pytest.fixture(scope="module")
def server(running: Provider, tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    port = free_port()
    os.environ[VARIABLE] = SECRET
    try:
        with served(tmp_path_factory.mktemp("openid"), **settings(running, port)) as one:
            yield one
    finally:
        del os.environ[VARIABLE]


def settings(provider: Provider, port: int, **given: Any) -> dict[str, Any]:
    login = Login(client_id=CLIENT, client_secret_env=VARIABLE, url=f"http://127.0.0.1:{port}", name="Acme", **given)
    tokens = Tokens(
        issuer=provider.url, audience="the api", jwks=f"{provider.url}/keys", operator_tenant="the operators"
    )
    return {"port": port, "tokens": tokens, "login": login, "failures": "1000/minute"}


def logged_in(server: Served, to: str = "/runs") -> Browser:
    """A browser that has gone through a login, as far as it came."""
    browser = Browser(server)
    browser.open("/login/openid", to=to)
    return browser


def followed(browser: Browser) -> str:
    """The page that the last one leads to by itself."""
    found = re.search(r'http-equiv="refresh" content="0;url=([^"]*)"', browser.page.text)
    assert found, browser.text
    return browser.open(found[1].replace("&amp;", "&"))


def callback(server: Served, browser: Browser) -> str:
    """The address that the provider sends the browser back to, which it does not open yet."""
    away = browser.client.get("/login/openid").headers["location"]
    return browser.client.get(away).headers["location"].removeprefix(server.url)


def refused(browser: Browser) -> bool:
    """Whether no session has begun, and the page says where to begin again."""
    assert browser.page.status_code in (401, 503), browser.text
    assert "Log in with Acme" in browser.text
    assert "spanhook_session" not in browser.client.cookies
    return browser.client.get("/runs").status_code == 303


def test_people_log_in_and_see_what_their_claims_allow(server: Served, provider: Provider) -> None:
    browser = Browser(server)
    assert "Log in with Acme" in browser.open("/runs?search=a")
    assert 'href="/login/openid?to=/runs%3Fsearch%3Da"' in browser.page.text
    assert "You are logged in" in browser.open("/login/openid", to="/runs?search=a")
    text = followed(browser)
    assert browser.path == "/runs?search=a"
    assert "ada · acme" in text
    assert (">Hooks</a>" in browser.page.text, ">Usage</a>" in browser.page.text) == (True, False)
    assert "usage:read" in browser.open("/usage")
    assert browser.client.get("/v1/runs").status_code == 401  # the API takes no cookies


def test_the_login_uses_state_nonce_and_pkce(server: Served, provider: Provider) -> None:
    logged_in(server)
    asked, redeemed = provider.asked[-1], provider.redeemed[-1]
    assert min(len(asked[one]) for one in ("state", "nonce", "code_challenge")) >= 20
    assert 43 <= len(redeemed["code_verifier"]) <= 128
    before = {asked[one] for one in ("state", "nonce", "code_challenge")}
    logged_in(server)
    assert before.isdisjoint(provider.asked[-1].values())


def test_cookies_are_for_this_server_and_tell_nothing(server: Served, provider: Provider) -> None:
    provider.claims = {"sub": "ada-lovelace"}
    browser = Browser(server)
    begun = browser.client.get("/login/openid")
    login = begun.headers["set-cookie"]
    assert all(part in login for part in ("HttpOnly", "SameSite=lax", "Path=/login", "Max-Age=600"))
    nonce = parse_qs(urlsplit(begun.headers["location"]).query)["nonce"][0]
    assert nonce not in login
    done = browser.client.get(browser.client.get(begun.headers["location"]).headers["location"])
    session, after = done.headers.get_list("set-cookie")[-2:]
    assert all(part in session for part in ("HttpOnly", "SameSite=strict", "Path=/"))
    assert 290 <= int(session.partition("Max-Age=")[2].partition(";")[0]) <= 300  # as the ID token says
    parts = session.partition("=")[2].partition(";")[0].split(".")
    told = [session.encode(), *(base64.urlsafe_b64decode(f"{one}===") for one in parts)]
    assert not any(b"ada-lovelace" in one for one in told)
    assert after.startswith('spanhook_login=""')


def test_operators_are_those_of_the_tenant_that_is_set(server: Served, provider: Provider) -> None:
    provider.claims = {"tenant_id": "the operators", "scope": ["runs:read"]}
    browser = logged_in(server)
    assert "ada · operator" in followed(browser)


def test_logging_out_ends_the_session_and_says_where_else_to(server: Served, provider: Provider) -> None:
    browser = logged_in(server)
    followed(browser)
    text = browser.send("/logout")
    assert "log out there, too" in text
    assert f'href="{provider.url}/end"' in browser.page.text
    assert browser.client.get("/runs").status_code == 303


def test_a_session_lasts_eight_hours_at_most(server: Served, provider: Provider) -> None:
    provider.claims = {"exp": int(time.time()) + 90_000}
    (session,) = (one for one in logged_in(server).page.headers.get_list("set-cookie") if "spanhook_session" in one)
    assert "Max-Age=28800" in session


def test_a_session_ends(running: Provider, tmp_path_factory: pytest.TempPathFactory, server: Served) -> None:
    running.reset()
    port = free_port()
    short = settings(running, port, hours=1.1 / 3600)
    with served(tmp_path_factory.mktemp("short"), **short) as one:
        browser = Browser(one)
        browser.open("/login/openid")
        (session,) = (one for one in browser.page.headers.get_list("set-cookie") if one.startswith("spanhook_session"))
        session = session.partition(";")[0]
        assert browser.client.get("/runs", headers={"Cookie": session}).status_code in (200, 303)
        ends = int(session.split(".")[1])
        while time.time() <= ends:
            browser.client.get("/healthz")
        again = browser.client.get("/runs", headers={"Cookie": session})
        assert again.status_code == 303
        assert again.headers["location"].startswith("/login")


@pytest.mark.parametrize(
    "given",
    [
        {"nonce": "another"},
        {"nonce": None},
        {"iss": "https://login.example"},
        {"iss": None},
        {"aud": "another"},
        {"aud": [CLIENT, "another"]},
        {"aud": [CLIENT, "another"], "azp": "another"},
        {"aud": None},
        {"exp": 1_600_000_000},
        {"exp": None},
        {"sub": None},
        {"nbf": 4_000_000_000},
        {"tenant_id": None},
        {"tenant_id": 7},
        {"scope": "openid profile"},
        {"scope": None},
    ],
    ids=str,
)
def test_wrong_claims_begin_no_session(server: Served, provider: Provider, given: dict[str, Any]) -> None:
    provider.claims = given
    assert refused(logged_in(server))


def unsigned(claims: dict[str, Any]) -> str:
    return jwt.encode(claims, "", "none")


def anothers(claims: dict[str, Any]) -> str:
    return jwt.encode(claims, ec.generate_private_key(ec.SECP256R1()), "ES256", {"kid": "one"})


def of_unknown_name(claims: dict[str, Any]) -> str:
    return jwt.encode(claims, ec.generate_private_key(ec.SECP256R1()), "ES256", {"kid": "two"})


def with_the_shared_secret(claims: dict[str, Any]) -> str:
    return jwt.encode(claims, SECRET, "HS256")


def with_a_key_inside(claims: dict[str, Any]) -> str:
    key = ec.generate_private_key(ec.SECP256R1())
    inside: Any = ECAlgorithm.to_jwk(key.public_key(), as_dict=True)
    return jwt.encode(claims, key, "ES256", {"jwk": inside, "kid": "one"})


def changed(claims: dict[str, Any]) -> str:
    head, body, signature = jwt.encode({**claims, "tenant_id": "x"}, "s" * 32, "HS256").split(".")
    return f"{head}.{base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip('=')}.{signature or body}"


@pytest.mark.parametrize(
    "sign",
    [
        unsigned,
        anothers,
        of_unknown_name,
        with_the_shared_secret,
        with_a_key_inside,
        changed,
        lambda _: "no token",
        lambda _: "",
    ],
)
def test_tokens_that_the_provider_has_not_signed_begin_no_session(
    server: Served, provider: Provider, sign: Callable[[dict[str, Any]], str]
) -> None:
    provider.sign = sign
    assert refused(logged_in(server))


def test_another_state_begins_no_session(server: Served, provider: Provider) -> None:
    browser = Browser(server)
    other = callback(server, Browser(server))
    callback(server, browser)
    assert "this browser" in browser.open(other)  # somebody else's login, in a link
    assert refused(browser)
    for given in ({"state": "x", "code": "y"}, {"code": "y"}, {"state": "é", "code": "y"}, {}):
        assert "another browser" in browser.open("/login/callback", **given)
        assert refused(browser)


def test_a_code_is_exchanged_with_its_own_verifier_alone(server: Served, provider: Provider) -> None:
    """A code that was stolen is of no use to whoever has begun another login."""
    browser = Browser(server)
    stolen = parse_qs(urlsplit(callback(server, Browser(server))).query)["code"][0]
    own = parse_qs(urlsplit(callback(server, browser)).query)
    assert "invalid_grant" in browser.open("/login/callback", state=own["state"][0], code=stolen)
    assert refused(browser)


def test_without_a_verifier_the_provider_gives_nothing(provider: Provider, server: Served) -> None:
    address = callback(server, Browser(server))
    given = {"code": parse_qs(urlsplit(address).query)["code"][0], "redirect_uri": f"{server.url}/login/callback"}
    basic = "Basic " + base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
    assert provider.redeem(given, basic) == (400, {"error": "invalid_grant"})


def test_an_address_and_its_code_serve_once(server: Served, provider: Provider) -> None:
    browser = Browser(server)
    address = callback(server, browser)
    kept = browser.client.cookies["spanhook_login"]
    assert "You are logged in" in browser.open(address)
    again = Browser(server)
    assert "another browser" in again.open(address)
    assert refused(again)
    again.client.cookies.set("spanhook_login", kept, domain="127.0.0.1", path="/login")
    assert "invalid_grant" in again.open(address)
    assert refused(again)


def test_a_login_that_has_ended_or_was_changed_is_none(server: Served, provider: Provider) -> None:
    browser = Browser(server)
    address = callback(server, browser)
    name, ends, sealed = browser.client.cookies["spanhook_login"].split(".")
    for wrong in (f"{name}.1.{sealed}", f"{name}.{int(ends) + 1}.{sealed}", f"openid.{ends}.{sealed}", "x.y.z"):
        other = Browser(server)
        other.client.cookies.set("spanhook_login", wrong, domain="127.0.0.1", path="/login")
        assert "another browser" in other.open(address)
        assert refused(other)
    other = Browser(server, Cookie=f"spanhook_session={name}.{ends}.{sealed}")
    assert other.client.get("/runs").status_code == 303  # a login is no session


@pytest.mark.parametrize(
    "to",
    [
        "https://evil.example",
        "//evil.example",
        "/\\evil.example",
        "/runs\\..\\//evil.example",
        "/login/openid",
        "/logout",
        "javascript:alert(1)",
        "/v1/runs",
        "/runs\n//evil.example",
        "/runs" + "?" + "a" * 3000,
    ],
)
def test_a_login_leads_to_pages_of_this_server_alone(server: Served, provider: Provider, to: str) -> None:
    browser = logged_in(server, to)
    followed(browser)
    assert (browser.path.partition("?")[0], browser.page.url.host) == ("/runs", "127.0.0.1")
    assert provider.asked[-1]["redirect_uri"] == f"{server.url}/login/callback"


def test_a_refusal_is_told_and_nothing_that_a_link_says(server: Served, provider: Provider) -> None:
    provider.error = "access_denied"
    browser = logged_in(server)
    assert "Acme has refused the login (access_denied)" in browser.text
    assert refused(browser)
    provider.error = "<b>call us now"
    browser = logged_in(server)
    assert "call us" not in browser.text
    assert refused(browser)


def test_another_issuer_in_the_answer_is_refused(server: Served, provider: Provider) -> None:
    browser = Browser(server)
    address = callback(server, browser).partition("&iss=")
    assert "another issuer" in browser.open(f"{address[0]}&iss=https://evil.example&code=x")
    assert refused(browser)


@pytest.mark.parametrize(
    "described",
    [
        {"issuer": "https://login.example"},
        {"token_endpoint": "http://login.example/token"},
        {"jwks_uri": None},
        {"authorization_endpoint": "javascript:alert(1)"},
    ],
    ids=str,
)
def test_a_provider_that_describes_itself_wrongly_is_not_used(
    running: Provider, server: Served, tmp_path_factory: pytest.TempPathFactory, described: dict[str, Any]
) -> None:
    running.reset()
    running.described = described
    port = free_port()
    with served(tmp_path_factory.mktemp("lies"), **settings(running, port)) as one:
        browser = logged_in(one)
        assert "describes itself wrongly" in browser.text
        assert browser.page.status_code == 503


def test_a_provider_that_is_away_is_told(
    running: Provider, server: Served, tmp_path_factory: pytest.TempPathFactory
) -> None:
    running.reset()
    running.away = True
    port = free_port()
    with served(tmp_path_factory.mktemp("away"), **settings(running, port)) as one:
        assert "Acme cannot be reached" in logged_in(one).text
        running.away = False
        while "Acme could not be reached just now" in (text := logged_in(one).text):
            pass
        assert "You are logged in" in text


def test_many_may_log_in_at_a_time(running: Provider, server: Served, tmp_path_factory: pytest.TempPathFactory) -> None:
    running.reset()
    port = free_port()
    with served(tmp_path_factory.mktemp("many"), **settings(running, port)) as one, ThreadPoolExecutor(8) as pool:
        assert {"You are logged in" in found.text for found in pool.map(lambda _: logged_in(one), range(8))} == {True}


def test_without_the_setting_there_is_no_such_login(tmp_path_factory: pytest.TempPathFactory) -> None:
    with served(tmp_path_factory.mktemp("none"), api_keys=True) as one:
        browser = Browser(one)
        assert "Log in with" not in browser.open("/login")
        session = {"Cookie": f"spanhook_session=openid.{int(time.time()) + 60}.aaaa"}
        assert browser.client.get("/runs", headers=session).status_code == 303
        for path in ("/login/openid", "/login/callback"):
            browser.open(path)
            assert browser.page.status_code == 404


def test_the_provider_may_sign_with_other_keys_later(server: Served, provider: Provider) -> None:
    before = provider.key
    assert "You are logged in" in logged_in(server).text
    try:
        for provider.name_of_key, algorithm, key in (("two", "ES256", before), ("three", "RS256", rsa_key())):
            provider.key, provider.published, provider.algorithm = key, key, algorithm
            assert "You are logged in" in logged_in(server).text
    finally:
        provider.key, provider.published, provider.algorithm, provider.name_of_key = before, before, "ES256", "one"


def test_the_secret_is_sent_as_the_provider_wants_it(
    running: Provider, server: Served, tmp_path_factory: pytest.TempPathFactory
) -> None:
    running.reset()
    running.described = {"token_endpoint_auth_methods_supported": ["private_key_jwt", "client_secret_post"]}
    port = free_port()
    with served(tmp_path_factory.mktemp("posted"), **settings(running, port)) as one:
        assert "You are logged in" in logged_in(one).text


def test_whoever_has_logged_in_approves_with_their_own_name(server: Served, provider: Provider) -> None:
    asked = ApprovalRequest("one", "binding", policy="p", tool="refund", tenant_id="acme", approvers=("ada",))
    open_approvals(server.database_url).ask(asked, 3600)
    provider.claims = {"scope": "approvals:decide", "sub": "eve"}
    eve = logged_in(server, "/approvals")
    followed(eve)
    assert "refund" in eve.text
    eve.send("/approvals/one/approve")
    assert eve.page.status_code == 403
    provider.claims = {"scope": "approvals:decide"}
    ada = logged_in(server, "/approvals")
    followed(ada)
    ada.send("/approvals/one/approve", reason="fine")
    assert "ada" in ada.open("/approvals", status="approved")
    (last,) = server.with_database(audit.changes)[-1:]
    assert (last["action"], last["actor"], last["how"], last["tenant"]) == ("approval.approve", "ada", "login", "acme")
