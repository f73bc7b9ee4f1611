"""Secrets that are planted everywhere are gone behind the collector; what only looks like one is still there."""

import json
import uuid
from typing import Any

import pytest
from opentelemetry.trace import Status, StatusCode

from tests.e2e.backends import Record, Span
from tests.e2e.programs import until
from tests.e2e.sending import application
from tests.e2e.stack import Pipe

pytestmark = pytest.mark.e2e

PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEAzJ{}\n-----END RSA PRIVATE KEY-----"

#: What each secret looks like; what stands in the braces must not be found behind the collector.
SECRETS = {
    "openai": "sk-proj-{}abcdefgh",
    "anthropic": "sk-ant-api03-{}",
    "stripe": "sk_live_{}abcdefgh",
    "github": "ghp_{}abcdefgh",
    "gitlab": "glpat-{}",
    "slack": "xoxb-1234-{}",
    "google": "AIza{}abcdefghijkl",
    "oauth client": "GOCSPX-{}",
    "hugging face": "hf_{}abcdefghijkl",
    "groq": "gsk_{}abcdefghijkl",
    "xai": "xai-{}abcdefghijkl",
    "perplexity": "pplx-{}abcdefghijkl",
    "replicate": "r8_{}abcde",
    "nvidia": "nvapi-{}",
    "tavily": "tvly-dev-{}",
    "langsmith": "lsv2_pt_{}_0123456789",
    "docker": "dckr_pat_{}",
    "vault": "hvs.{}",
    "telegram": "https://api.telegram.org/bot123456789:AA{}/getMe",
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx{}.c2ln{}",
    "bearer": "Authorization: Bearer {}",
    "basic": "authorization: Basic {}==",
    "address": "postgresql://app:{}@db.internal/shop",
    "address with @": "postgresql://app:p@{}@db.internal/shop",
    "signed address": "https://example.org/a?X-Amz-Date=1&X-Amz-Signature={}",
    "shared access": "https://example.org/a?sig={}&se=2",
    "session": "Cookie: theme=dark; session={}",
    "json": '{{"user": "ann", "password": "pass \\"{}\\" phrase {}"}}',
    "json in json": '{{"arguments": "{{\\"api_key\\": \\"two words {}\\"}}"}}',
    "yaml": "client_secret: {}",
    "query": "https://example.org/?access_token={}&page=2",
    "shell": "login --password={} --verbose",
    "shell, a word of its own": "login --token {} --verbose",
    "bare": "login --token={}",
    "bare in json": '{{"token": "{}"}}',
    "django": "SECRET_KEY = '{}'",
    "signing": "signing_key: {}",
    "connection": "Server=db;Uid=app;Pwd={};",
    "storage": "AccountName=shop;AccountKey={}+/==;EndpointSuffix=core.example.org",
    "ruby": "{{'password' => '{}'}}",
    "private key": PEM,
    "pgp": "-----BEGIN PGP PRIVATE KEY BLOCK-----\n{}\n-----END PGP PRIVATE KEY BLOCK-----",
}
KEYS = (
    "password",
    "db.password",
    "apiKey",
    "api_key",
    "x-api-key",
    "client_secret",
    "http.request.header.authorization",
    "set-cookie",
    "accessToken",
    "session_token",
    "aws.access_key_id",
    "user.credentials",
)

#: What stays as it is.
HARMLESS: dict[str, Any] = {
    "gen_ai.usage.input_tokens": 4111111111111111,
    "gen_ai.usage.cache_read.input_tokens": 12,
    "spanhook.usage.reasoning_tokens": 7,
    "gen_ai.request.max_tokens": 512,
    "gen_ai.token.type": "input",
    "spanhook.token.bucket": "cache_read",
    "spanhook.cost.usd": 0.4111111111111111,
    "spanhook.decision.reason": "the secret of good tea is time, ask for no password",
    "gen_ai.tool.name": "reset_password",
    "gen_ai.request.model": "pplx-70b-online",
    "gen_ai.tool.call.result": '{"max_tokens": 512, "prompt_tokens": 12, "stop": "token", "url": "http://a:80/b@c"}',
    "gen_ai.response.finish_reasons": ("stop", "length"),
}


def planted() -> tuple[dict[str, str], list[str]]:
    """The secrets with something unmistakable in each, and those things."""
    marks: list[str] = []

    def one(form: str) -> str:
        found = [uuid.uuid4().hex for _ in range(form.count("{}"))]
        marks.extend(found)
        return form.format(*found)

    return {name: one(form) for name, form in SECRETS.items()}, marks


def found_span(piped: Pipe, mark: str) -> Span:
    return until(
        lambda: next((span for span in piped.sink.spans() if span.attributes.get("mark") == mark), None), "span"
    )


def found_record(piped: Pipe, mark: str) -> Record:
    return until(
        lambda: next((one for one in piped.sink.records() if one.attributes.get("mark") == mark), None), "log record"
    )


def test_spans(piped: Pipe) -> None:
    secrets, marks = planted()
    keyed = {key: f"k{index}{uuid.uuid4().hex}" for index, key in enumerate(KEYS)}
    mark = uuid.uuid4().hex
    everything = " ".join(secrets.values())
    with application(piped.endpoint, {"process.command_args": ["app", secrets["shell"]]}) as app:
        span = app.tracer.start_span(f"execute_tool {secrets['openai']}", attributes={"mark": mark, **HARMLESS})
        for name, secret in secrets.items():
            span.set_attribute(f"value.{name}", secret)
        span.set_attributes(keyed)
        span.set_attribute("list", [secrets["github"], "harmless"])
        span.add_event(
            f"event {secrets['slack']}", {"note": everything, "exception.stacktrace": f"at f\n{everything}\n"}
        )
        span.record_exception(ValueError(everything))
        span.set_status(Status(StatusCode.ERROR, everything))
        span.end()
        plain = app.tracer.start_span(f"chat {secrets['jwt']}", attributes={"mark": mark + "p"})
        plain.set_status(Status(StatusCode.ERROR, secrets["bearer"]))
        plain.end()
    got, without_events = found_span(piped, mark), found_span(piped, mark + "p")
    text = piped.sink.text()
    assert [name for name, secret in secrets.items() if secret in text] == []
    assert [one for one in marks if one in text] == []
    assert [key for key, secret in keyed.items() if secret in text] == []
    assert got.name == "execute_tool ****"
    assert (without_events.name, without_events.status["message"]) == ("chat ****", "Authorization: ****")
    assert got.attributes["db.password"] == "****"
    assert got.attributes["value.query"] == "https://example.org/?****&page=2"
    assert got.attributes["value.address"] == "****db.internal/shop"
    assert not [key for key in got.attributes if key.startswith("redact")]
    assert not [key for _, attributes in got.events for key in attributes if key.startswith("redact")]
    kept = {key: list(value) if isinstance(value, tuple) else value for key, value in HARMLESS.items()}
    assert {key: got.attributes[key] for key in HARMLESS} == kept


def test_log_events(piped: Pipe) -> None:
    secrets, marks = planted()
    mark = uuid.uuid4().hex
    nested = {"user": "ann", "input_tokens": 12, "deep": [{"password": marks[0], "note": secrets["jwt"]}], **secrets}
    with application(piped.endpoint) as app:
        app.log("made.up", nested, {"mark": mark, "note": " ".join(secrets.values()), "gen_ai.usage.input_tokens": 3})
        app.log("made.up", json.dumps(secrets), {"mark": mark + "s"})
    got = found_record(piped, mark)
    found_record(piped, mark + "s")
    text = piped.sink.text()
    assert [one for one in marks if one in text] == []
    assert (got.body["user"], got.body["input_tokens"], got.body["deep"][0]["password"]) == ("ann", 12, "****")
    assert got.attributes["gen_ai.usage.input_tokens"] == 3
    assert got.attributes["event.name"] == "made.up"


def test_content_in_attributes_is_redacted_in_the_body(piped: Pipe) -> None:
    """Instrumentations give it either way."""
    secrets, marks = planted()
    mark, name = uuid.uuid4().hex, "gen_ai.client.inference.operation.details"

    def said(secret: str) -> list[dict[str, Any]]:
        return [{"role": "user", "parts": [{"type": "text", "content": f"look: {secret}"}]}]

    with application(piped.endpoint) as app:
        for key, secret in secrets.items():
            told = {"gen_ai.input.messages": said(secret), "gen_ai.output.messages": said(secret)}
            app.log(name, None, {"mark": f"{mark} {key}", "gen_ai.response.finish_reasons": ["stop"], **told})
        app.log(name, {"gen_ai.input.messages": said(secrets["github"])}, {"mark": f"{mark} body"})
        app.log(name, "in words", {"mark": f"{mark} words", "gen_ai.input.messages": said(secrets["github"])})
    got = {key: found_record(piped, f"{mark} {key}") for key in (*secrets, "body", "words")}
    text = piped.sink.text()
    assert [one for one in marks if one in text] == []
    for key in ("openai", "body"):
        assert got[key].body["gen_ai.input.messages"] == said("****"), key
        assert "gen_ai.input.messages" not in got[key].attributes
    assert got["openai"].body.keys() == {"gen_ai.input.messages", "gen_ai.output.messages"}
    assert got["openai"].attributes["gen_ai.response.finish_reasons"] == ["stop"]
    assert got["words"].body == "in words"


def test_content_is_cut_on_spans_and_whole_in_log_events(piped: Pipe) -> None:
    mark, long = uuid.uuid4().hex, "é" * 500_000
    with application(piped.endpoint) as app:
        span = app.tracer.start_span(
            "chat", attributes={"mark": mark, "gen_ai.input.messages": long, "short": "x" * 2048}
        )
        span.end()
        app.log("gen_ai.client.inference.operation.details", None, {"mark": mark, "gen_ai.input.messages": long})
    span, record = found_span(piped, mark), found_record(piped, mark)
    assert len(span.attributes["gen_ai.input.messages"].encode()) <= 2048
    assert span.attributes["gen_ai.input.messages"].endswith("é…")
    assert span.attributes["spanhook.truncated"] is True
    assert span.attributes["short"] == "x" * 2048
    assert record.body == {"gen_ai.input.messages": long}
