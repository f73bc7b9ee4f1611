"""Sends events of agents to a URL, signed, at least once."""

import os
from typing import Annotated, Any, Literal
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field

from spanhook.errors import ConfigurationError
from spanhook.gating import Auditor, handler, parse_event, validated
from spanhook.model import Event, Operation
from spanhook.semconv import Phase, Status
from spanhook.store import SQLiteOutbox

_DEFAULT = ["agent.invoke", "job", "cron.execute"]


@handler
class WebhookForwarder(Auditor):
    """Sends events to a URL.

    Args:
        url: Where they go, with ``https://``.
        secret_env: The environment variable with the secret (``whsec_...``) that they are signed with; while it is
            replaced, two with a space between, the new one first.
        events: Which events, as ``Hooks.on`` takes them: ``agent.invoke.post``, ``agent:end``, a kind, or ``*``.
        outbox: The SQLite file in which they wait.
        source: Where they come from, for receivers.
        ordered: Send an event only when those before it have been delivered or given up.
        attempts: How often an event is tried.
        timeout: Seconds for one request.
        allowed_networks: Networks that may be sent to besides the public internet, such as ``10.1.0.0/16``.
        plain_http: Whether the URL may have ``http://``.

    Raises:
        ConfigurationError: A setting cannot be used, or the variable has no secret.
    """

    kinds = ("*",)
    name = "webhook_forwarder"
    priority = 1000
    fail_mode = "open"

    class Config(BaseModel):
        """Settings of ``webhook_forwarder``."""

        model_config = ConfigDict(extra="forbid")

        url: str = Field(min_length=1, max_length=2048, description="Where events go, with https://.")
        secret_env: str = Field(min_length=1, description="The environment variable with the secret, whsec_...")
        events: list[Annotated[str, Field(min_length=1)]] = Field(
            default=_DEFAULT, min_length=1, description="Which events, such as agent.invoke.post, agent:end or *."
        )
        outbox: str = Field(default="webhooks.db", min_length=1, description="The SQLite file in which they wait.")
        source: str = Field(default="spanhook", min_length=1, description="Where events come from, for receivers.")
        ordered: bool = Field(default=False, description="Send an event only after those before it.")
        attempts: int = Field(default=12, ge=1, le=50, description="How often an event is tried.")
        timeout: float = Field(default=15, gt=0, le=30, description="Seconds for one request.")
        allowed_networks: list[str] = Field(default=[], description="Networks besides the public internet.")
        plain_http: bool = Field(default=False, description="Whether the URL may have http://.")

    def __init__(
        self,
        url: str,
        secret_env: str,
        *,
        events: list[str] | None = None,
        outbox: str = "webhooks.db",
        source: str = "spanhook",
        ordered: bool = False,
        attempts: int = 12,
        timeout: float = 15,
        allowed_networks: list[str] | None = None,
        plain_http: bool = False,
    ) -> None:
        # An extra, without which the settings can be described all the same.
        from spanhook.webhooks import DestinationError, Destinations, Forwarder, Schedule, Sender, entry_of

        given = {"url": url, "secret_env": secret_env, "outbox": outbox, "source": source, "ordered": ordered}
        given |= {"attempts": attempts, "timeout": timeout, "plain_http": plain_http}
        given |= {"allowed_networks": allowed_networks or [], "events": _DEFAULT if events is None else events}
        config = validated(self.Config, given, "webhook_forwarder")
        self._topics = [parse_event(event, "trace") for event in config.events]
        self.kinds = tuple(dict.fromkeys(kind for topic in self._topics for kind in topic.kinds))
        self._source = quote(config.source, safe="/:~")
        destinations = Destinations(config.allowed_networks, plain_http=config.plain_http)
        try:
            destinations.parse(config.url)
        except DestinationError as error:
            raise ConfigurationError(f"webhook_forwarder: url: {error}") from None
        box = SQLiteOutbox(config.outbox, config.url, _secrets(config.secret_env), ordered=config.ordered)
        sender, schedule = Sender(destinations, timeout=config.timeout), Schedule(attempts=config.attempts)
        self._forwarder = Forwarder[Event](box, sender, lambda event: entry_of(event, self._source), schedule)

    def before(self, op: Operation) -> None:
        """Take the event that the operation begins."""
        self._take(op, "pre", "success")

    def ended(self, op: Operation) -> None:
        """Take the event that the operation has ended."""
        self._take(op, "post" if op.status == "success" else "error", op.status)

    def flush(self, seconds: float = 10.0) -> bool:
        """Wait until all events so far have been delivered or given up. Returns whether that was in time.

        Raises:
            StoreError: The outbox cannot be used now.
        """
        return self._forwarder.flush(seconds)

    def _take(self, op: Operation, phase: Phase, status: Status | Literal[""]) -> None:
        for topic in self._topics:
            if topic.includes(op.kind, phase, status):
                self._forwarder.put(Event(op._record, phase))
                return


def _secrets(variable: str) -> list[str]:
    from spanhook.webhooks import check_secret

    given: Any = os.environ.get(variable, "").split()
    if not 1 <= len(given) <= 2:
        state = f"has {len(given)} words" if given else "is not set"
        raise ConfigurationError(
            f"webhook_forwarder: the environment variable {variable!r} {state}; expected whsec_..."
        )
    try:
        return [check_secret(one) for one in given]
    except ValueError as error:
        raise ConfigurationError(f"webhook_forwarder: {variable}: {error}") from None
