"""Settings of ``remote_policy``, and what they say together."""

import re
from collections.abc import Iterator
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import Field, StringConstraints, field_validator

from spanhook.gating import NEUTRAL, Looser
from spanhook.hooks._settings import Conflict, SettingsModel
from spanhook.hooks.approval import Asking
from spanhook.hooks.remote_policy._facts import CONTENT, NAMES, PREFIXES, is_known
from spanhook.model import REWRITABLE

Service = Literal["opa", "http", "agent_hooks", "grafana", "datadog", "moderation", "guard_model", "cedar", "rego"]
IN_PROCESS = ("cedar", "rego")
JUDGES_CONTENT = ("grafana", "datadog", "moderation", "guard_model")
Text = Annotated[str, StringConstraints(min_length=1, max_length=1000)]
_CONTENT_OF = {"llm.call": {"messages", "system"}, "tool.execute": {"arguments"}}
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_VALUE = re.compile(r"[ -~]*")


class Config(SettingsModel):
    """Settings of ``remote_policy``."""

    service: Annotated[Service, NEUTRAL] = Field(description="What is asked, by the format that it speaks.")
    url: str = Field(default="", max_length=2000, description="The address that is asked, in full.")
    send: Annotated[list[str], NEUTRAL] = Field(
        default=[],
        max_length=50,
        description="What the policy is told besides kind, phase and name, such as arguments or identity.user_id.",
    )
    check: list[Literal["request", "result"]] = Field(
        default=["request"], min_length=1, description="What is checked: requests, results, or both."
    )
    kinds: Annotated[list[str] | None, Looser("fewer", empty=True)] = Field(
        default=None,
        min_length=1,
        description="The kinds of operation that are checked; by default llm.call and tool.execute, or, if the service "
        "judges content, those of the two whose content send names.",
    )
    headers: Annotated[dict[str, str], NEUTRAL] = Field(
        default={}, max_length=50, description="Headers to send with each question."
    )
    headers_env: Annotated[dict[str, Text], NEUTRAL] = Field(
        default={}, max_length=50, description="Headers whose values are in environment variables, by these names."
    )
    timeout: Annotated[float, NEUTRAL] = Field(
        default=1.0, gt=0, le=600, description="Seconds for an answer, all attempts together."
    )
    retries: Annotated[int, NEUTRAL] = Field(
        default=1, ge=0, le=10, description="How often to ask again after a lost connection, or status 429 or 500 on."
    )
    failures: Annotated[int | None, NEUTRAL] = Field(
        default=5, ge=1, le=1_000_000, description="Stop asking after so many failures in a row; null: never."
    )
    open_for: Annotated[float, NEUTRAL] = Field(
        default=30, gt=0, le=86400, description="Seconds for which the service is not asked then."
    )
    reason: str = Field(default="", max_length=1000, description="The reason that the caller gets.")
    status_code: Annotated[int, NEUTRAL] = Field(
        default=403, ge=400, le=599, description="The HTTP status of a refusal."
    )
    scope: Annotated[Literal["operation", "run"], Looser(("run", "operation"))] = Field(
        default="operation", description="What is refused: this call, or also everything else in its run."
    )
    component: str = Field(default="", max_length=100, description="The service's name in telemetry.")
    policy_id: str = Field(default="", max_length=200, description="The policy's id in telemetry.")
    policy_version: str = Field(default="", max_length=200, description="The policy's version in telemetry.")
    model: str = Field(default="", max_length=200, description="The model, for moderation and guard_model.")
    policies: list[Text] = Field(default=[], max_length=1000, description="Files with Cedar policies or Rego modules.")
    data: str = Field(default="", description="A file with Cedar's entities or Rego's data, as JSON.")
    cedar_schema: str = Field(default="", description="A file with Cedar's schema.")
    query: str = Field(default="", max_length=1000, description="What is asked in Rego, such as data.agents.allow.")
    approval: Annotated[Asking | None, Looser("present")] = Field(
        default=None, description="How a person is asked if the policy says so; without it, such a call is refused."
    )
    store: str = Field(
        default="memory://",
        description="Where requests for approval are kept: memory://, sqlite:///FILE or redis://HOST, or a store.",
        json_schema_extra={"spanhook_store": "default"},
    )

    @field_validator("send")
    @classmethod
    def _known(cls, send: list[str]) -> list[str]:
        unknown = [name for name in send if not is_known(name)]
        if unknown:
            expected = ", ".join((*NAMES, *(f"{prefix}NAME" for prefix in PREFIXES)))
            raise ValueError(f"unknown {', '.join(unknown)}; expected some of {expected}")
        return list(dict.fromkeys(send))

    @field_validator("kinds")
    @classmethod
    def _rewritable(cls, kinds: list[str] | None) -> list[str] | None:
        unknown = [kind for kind in kinds or () if kind not in REWRITABLE]
        if unknown:
            raise ValueError(f"{', '.join(unknown)}: expected some of {', '.join(sorted(REWRITABLE))}")
        return kinds

    @field_validator("headers", "headers_env")
    @classmethod
    def _headers(cls, headers: dict[str, str]) -> dict[str, str]:
        wrong = [name for name, value in headers.items() if not (_HEADER.fullmatch(name) and _VALUE.fullmatch(value))]
        if wrong:
            names = ", ".join(map(repr, wrong))
            raise ValueError(f"{names} is not a header, or its value has characters that headers cannot have")
        return headers

    @property
    def checked(self) -> list[str]:
        """The kinds of operation that are checked."""
        both = list(_CONTENT_OF)
        if self.kinds is not None or self.service not in (*JUDGES_CONTENT, "agent_hooks"):
            return self.kinds or both
        return [kind for kind in both if _CONTENT_OF[kind].intersection(self.send)] or both

    @field_validator("url")
    @classmethod
    def _address(cls, url: str) -> str:
        try:
            parts = urlsplit(url)
            usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            usable = False
        if url and not usable:
            raise ValueError("expected an address such as https://policy.internal/v1/data/agents/allow")
        return url

    def conflicts(self) -> Iterator[Conflict]:
        local = self.service in IN_PROCESS
        if local != (not self.url):
            advice = "runs in the process; remove url" if local else "needs url"
            yield Conflict(f"{self.service} {advice}", ("service", "url"))
        if local != bool(self.policies):
            advice = "needs policies" if local else "has policies of its own; remove these"
            yield Conflict(f"{self.service} {advice}", ("service", "policies"))
        if (self.service == "rego") != bool(self.query):
            message = "query is for rego, and rego needs it, such as data.agents.allow"
            yield Conflict(message, ("service", "query"))
        if self.cedar_schema and self.service != "cedar":
            yield Conflict("cedar_schema is for cedar", ("service", "cedar_schema"))
        if self.data and not local:
            yield Conflict("data is for cedar and rego", ("service", "data"))
        if self.service == "guard_model" and not self.model:
            yield Conflict("guard_model needs model", ("service", "model"))
        if self.service in (*JUDGES_CONTENT, "agent_hooks"):
            yield from self._of_judges()

    def _of_judges(self) -> Iterator[Conflict]:
        compared = ("service", "check", "send")
        if "request" in self.check and not any(name != "result" and name in self.send for name in CONTENT):
            message = f"{self.service} judges content; send names none, such as messages or arguments"
            yield Conflict(message, compared)
        if "result" in self.check and "result" not in self.send:
            yield Conflict(f"{self.service} judges content; to check results, send has to name result", compared)
