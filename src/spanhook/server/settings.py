"""What can be set of the server, in a file and on the command line."""

import os
from collections import Counter
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from spanhook.config import read_model
from spanhook.errors import ConfigurationError
from spanhook.schedules import CronEntry
from spanhook.server.addresses import is_loopback, is_secure, is_unspecified
from spanhook.server.login import Login
from spanhook.server.webhook_settings import WebhookSettings

Asymmetric = Literal["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
Symmetric = Literal["HS256", "HS384", "HS512"]
Rate = Annotated[str, Field(pattern=r"^\d{1,7}/(second|minute|hour)$")]
_ASYMMETRIC = {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
LEAST_SECRET = 32
"""Bytes of a shared secret: as long as the shortest of the hashes (RFC 7518, section 3.2)."""


class Strict(BaseModel):
    """Refuses unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Tokens(Strict):
    """Which bearer tokens (JWT, RFC 7519) are accepted. Exactly one of ``jwks`` and ``secret_env`` is given.

    Attributes:
        issuer, audience: The required ``iss`` and ``aud``.
        jwks: The address of the issuer's keys (RFC 7517), ``https://`` or on loopback, or a file with them.
        secret_env: The environment variable with the shared secret, at least 32 bytes.
        algorithms: The accepted algorithms: by default RS256 and ES256 with keys, HS256 with a secret.
        tenant_claim, scope_claim: The claims with the tenant and with the scopes, as a list or separated by spaces.
        operator_tenant: The tenant whose callers are operators; empty for none.
        leeway: Seconds by which clocks may differ.
    """

    issuer: str = Field(min_length=1)
    audience: str = Field(min_length=1)
    jwks: str = ""
    secret_env: str = ""
    algorithms: tuple[Asymmetric | Symmetric, ...] = ()
    tenant_claim: str = Field(default="tenant_id", min_length=1)
    scope_claim: str = Field(default="scope", min_length=1)
    operator_tenant: str = ""
    leeway: float = Field(default=10, ge=0, le=300)

    @model_validator(mode="after")
    def _one_kind_of_key(self) -> Self:
        if bool(self.jwks) == bool(self.secret_env):
            raise ValueError("give one of jwks and secret_env")
        wrong = [one for one in self.algorithms if (one in _ASYMMETRIC) != bool(self.jwks)]
        if wrong:
            raise ValueError(f"{', '.join(wrong)} cannot be used with {'jwks' if self.jwks else 'secret_env'}")
        if "://" in self.jwks and not is_secure(self.jwks):
            raise ValueError(f"jwks is {self.jwks!r}; expected https://, or a file")
        return self

    @property
    def accepted(self) -> tuple[str, ...]:
        """The accepted algorithms."""
        return self.algorithms or (("RS256", "ES256") if self.jwks else ("HS256",))


class Retention(Strict):
    """How much telemetry is kept. What is managed, such as definitions and the audit record, always is.

    Attributes:
        days: How long runs, spans, log records, metrics, decisions and execution logs are kept; 0 for ever.
        totals_days: How long usage by day and statistics of hooks by hour are kept; 0 for ever.
        size_mb: Megabytes (of 1,000,000 bytes) that the database may take before the oldest telemetry is deleted; 0 for
            any. On PostgreSQL those of spans and log records, by estimate.
        interval: Seconds between two looks.
    """

    days: float = Field(default=30, ge=0, le=36_500)
    totals_days: float = Field(default=400, ge=0, le=36_500)
    size_mb: int = Field(default=10_000, ge=0, le=1_000_000_000)
    interval: float = Field(default=60, gt=0, le=86_400)


class ServedAgent(Strict):
    """An agent that is served.

    Attributes:
        target: ``./app.py:graph`` or ``package.module:graph``: a LangGraph graph, or an async callable.
        retry: Whether a job of it may run again after its process has died: ``safe`` if doing it twice does no harm.
    """

    target: str = Field(min_length=3)
    retry: Literal["never", "safe"] = "never"


class ServerSettings(Strict):
    """What can be set of the server.

    Attributes:
        host, port: Where it listens.
        database: ``sqlite:///FILE``, or ``postgresql://...``.
        approvals: Where requests for approval are kept, such as ``redis://HOST``; by default in the database.
        tokens: Which bearer tokens are accepted.
        login: How people log in with OpenID Connect; it needs ``tokens`` with ``jwks``.
        api_keys: Whether requests need an API key, or a token. Without it and ``tokens`` there is no authentication.
        allowed_hosts: Names by which the server may be called besides those of loopback and ``host``.
        allowed_origins: Origins of web pages, such as ``https://admin.example``, that may send changes, besides its
            own.
        handlers: Modules and classes that ``handler_ref`` may name; by default as ``HookRegistry`` allows.
        tenant_handlers: Those of them that need no ``hooks:admin``: with them a tenant can reach no file, no server
            and no environment variable.
        stores: The addresses of stores that processes count in, by name, so that use of budgets can be shown.
        signing_key: A file with a private key (Ed25519, PEM) that the sets of processes are signed with.
        max_body, max_telemetry: Bytes of a request's body, and of telemetry, compressed or not.
        rate, failures: How many requests a caller may send, and how many may fail to authenticate from one address,
            such as ``600/minute``.
        retention: How much telemetry is kept.
        webhooks: How webhooks are sent; without, there are none.
        dry_runs: How many dry runs there may be at a time.
        dry_run_timeout: Seconds for one dry run.
        agents: Agents that are served, by the name in their address.
        jobs: How many jobs run at a time in this process, and how many runs that callers wait for.
        queue: Where jobs are put for workers, such as ``redis://HOST``; by default this process runs them.
        cron: When agents that are served run by the clock.
    """

    host: str = "127.0.0.1"
    port: int = Field(default=8321, ge=0, le=65535)
    database: str = "sqlite:///spanhook.db"
    approvals: str = ""
    tokens: Tokens | None = None
    login: Login | None = None
    api_keys: bool = False
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    handlers: tuple[str, ...] | None = None
    tenant_handlers: tuple[str, ...] = (
        "spanhook.hooks.circuit_breaker",
        "spanhook.hooks.injection_scan",
        "spanhook.hooks.loop_guard",
        "spanhook.hooks.pii_redaction",
        "spanhook.hooks.tool_policy",
    )
    stores: dict[str, str] = Field(default_factory=dict[str, str])
    signing_key: str = ""
    max_body: int = Field(default=1024 * 1024, ge=1024)
    max_telemetry: int = Field(default=16 * 1024 * 1024, ge=1024)
    rate: Rate = "1200/minute"
    failures: Rate = "60/minute"
    retention: Retention = Retention()
    webhooks: WebhookSettings | None = None
    dry_runs: int = Field(default=2, ge=1, le=64)
    dry_run_timeout: float = Field(default=10, gt=0, le=60)
    agents: dict[Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,100}$")], ServedAgent] = Field(
        default_factory=dict[str, ServedAgent]
    )
    jobs: int = Field(default=16, ge=1, le=1000)
    queue: str = ""
    cron: tuple[CronEntry, ...] = ()

    @field_validator("allowed_hosts")
    @classmethod
    def _lower(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(one.lower().strip("[]") for one in given)

    @model_validator(mode="after")
    def _cron_has_agents(self) -> Self:
        known = ", ".join(self.agents) or "none"
        for entry in self.cron:
            if entry.agent not in self.agents:
                raise ValueError(f"cron {entry.id!r} is for the agent {entry.agent!r}, and agents has {known}")
        twice = [one for one, times in Counter(entry.id for entry in self.cron).items() if times > 1]
        if twice:
            raise ValueError(f"cron has several entries with the id {twice[0]!r}; ids must be unique")
        return self

    @model_validator(mode="after")
    def _login_has_an_issuer(self) -> Self:
        if self.login is None:
            return self
        if self.tokens is None or not self.tokens.jwks:
            raise ValueError("login needs tokens with jwks: their issuer is where people log in")
        if not is_secure(self.tokens.issuer):
            raise ValueError(f"login needs an issuer with https://, not {self.tokens.issuer!r}")
        host = urlsplit(self.login.url).hostname
        if host not in self.hosts:
            raise ValueError(f"login.url has the host {host!r}, by which the server is not called; see allowed_hosts")
        return self

    @property
    def authenticates(self) -> bool:
        """Whether callers must say who they are."""
        return self.api_keys or self.tokens is not None

    @property
    def hosts(self) -> frozenset[str]:
        """The names by which the server may be called."""
        own = () if is_unspecified(self.host) else (self.host.lower().strip("[]"),)
        return frozenset((*_LOOPBACK, *own, *self.allowed_hosts))

    def check(self) -> None:
        """Refuse what would be open to strangers.

        Raises:
            ConfigurationError: It would listen beyond loopback without authentication, or answer to no name there.
        """
        if is_loopback(self.host):
            return
        if not self.authenticates:
            raise ConfigurationError(
                f"host {self.host!r} is not loopback, and the server has no authentication; set tokens or api_keys, "
                "for example with --api-keys, or listen on 127.0.0.1"
            )
        if is_unspecified(self.host) and not self.allowed_hosts:
            raise ConfigurationError(
                f"host {self.host!r} is every address of this machine; name those by which the server is called, for "
                "example with --allow-host spanhook.internal"
            )


def read_settings(file: str | Path | None = None, **given: Any) -> ServerSettings:
    """The settings of a file, and what was given instead of them.

    Args:
        file: A file in YAML with the fields of ``ServerSettings``; ``None`` for none.
        **given: Fields; ``None`` means that it was not given.

    Raises:
        ConfigurationError: The file cannot be read, a field is unknown or has an invalid value, or the server would be
            open to strangers.
    """
    chosen = {name: value for name, value in given.items() if value is not None}
    path = None if file is None else str(file)
    settings = read_model(ServerSettings, path, chosen, "port: 8321 and api_keys: true")
    settings.check()
    return settings


def secret_of(tokens: Tokens) -> bytes:
    """The shared secret.

    Raises:
        ConfigurationError: The variable is not set, or the secret is too short.
    """
    return secret_in(tokens.secret_env, "tokens need")


def secret_in(variable: str, who: str) -> bytes:
    """The secret in an environment variable.

    Args:
        variable: Its name.
        who: Who needs it, for messages.

    Raises:
        ConfigurationError: The variable is not set, or the secret is too short.
    """
    secret = os.environ.get(variable, "").encode()
    if len(secret) < LEAST_SECRET:
        state = f"has {len(secret)} bytes" if secret else "is not set"
        raise ConfigurationError(
            f"the environment variable {variable!r} {state}; {who} a secret of at least {LEAST_SECRET} bytes"
        )
    return secret
