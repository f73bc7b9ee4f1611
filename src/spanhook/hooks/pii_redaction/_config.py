"""Settings of ``pii_redaction``, and what they say together."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints, field_validator

from spanhook.errors import ConfigurationError
from spanhook.gating import NEUTRAL, Looser
from spanhook.hooks._settings import Conflict, SettingsModel
from spanhook.hooks.pii_redaction._entities import DEFAULTS, ENTITIES, Entity
from spanhook.hooks.pii_redaction._own_patterns import check_pattern, own_entity
from spanhook.hooks.pii_redaction._presidio import presidio_entities
from spanhook.model import REWRITABLE

KINDS = (
    "llm.call",
    "tool.execute",
    "memory.store",
    "retrieval.query",
    "embeddings.create",
    "agent.invoke",
    "workflow.step",
    "request",
)
"""The kinds whose requests can be rewritten."""
MOST_PATTERNS = 50

Name = Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9_]{0,63}$")]
Pattern = Annotated[str, StringConstraints(min_length=1, max_length=1000), AfterValidator(check_pattern)]
Side = Literal["request", "result"]


def _check_kind(kind: str) -> str:
    if kind not in REWRITABLE:
        raise ValueError(f"cannot be rewritten; expected some of {', '.join(sorted(REWRITABLE))}")
    return kind


Kind = Annotated[str, AfterValidator(_check_kind)]


class Config(SettingsModel):
    """Settings of ``pii_redaction``."""

    entities: Annotated[list[Name] | None, Looser("fewer", empty=True)] = Field(
        default=None,
        description="What is redacted; by default email addresses, phone, card and account numbers and secrets.",
    )
    patterns: dict[Name, Pattern] = Field(
        default={},
        max_length=MOST_PATTERNS,
        description="Regular expressions of your own, in RE2's syntax, by the name that the mask says.",
    )
    allow: Annotated[list[Annotated[str, StringConstraints(min_length=1, max_length=320)]], Looser("more")] = Field(
        default=[], max_length=1000, description="Values that are let through, and domains whose addresses are."
    )
    apply_to: list[Side] = Field(
        default=["request", "result"], min_length=1, description="What is redacted: requests, results, or both."
    )
    kinds: list[Kind] = Field(
        default=["llm.call", "tool.execute", "memory.store", "retrieval.query", "embeddings.create"],
        min_length=1,
        description="The kinds of operation whose requests and results are redacted.",
    )
    action: Annotated[Literal["mask", "placeholder", "reject"], Looser(("reject", "mask", "placeholder"))] = Field(
        default="mask",
        description="mask: [EMAIL] for good; placeholder: <EMAIL_1>, restored in what the model answers; "
        "reject: refuse the call.",
    )
    keep_last: int = Field(
        default=0, ge=0, le=4, description="How many last characters of card, account and phone numbers a mask shows."
    )
    media: Annotated[Literal["pass", "reject"], Looser(("reject", "pass"))] = Field(
        default="pass", description="What becomes of images, sound and files, which cannot be looked into."
    )
    detector: Annotated[Literal["patterns", "presidio"], Looser(("presidio", "patterns"))] = Field(
        default="patterns", description="presidio: Presidio's pattern recognizers as well."
    )
    stream: Annotated[Literal["buffer", "window"], NEUTRAL] = Field(
        default="buffer",
        description="buffer: hold streams back until they are complete; window: let text out as soon as nothing "
        "in it can be a part of what is redacted.",
    )
    telemetry: Annotated[bool, Looser((True, False))] = Field(
        default=True, description="Redact the content that spanhook records, of all operations, too."
    )

    @field_validator("entities")
    @classmethod
    def _some(cls, entities: list[str] | None) -> list[str] | None:
        if entities is not None and not entities:
            raise ValueError("an empty list would redact nothing; leave it out for the default")
        return entities

    def conflicts(self) -> Iterator[Conflict]:
        for place, entity in enumerate(self.entities or ()):
            if entity not in ENTITIES and self.detector == "patterns":
                yield Conflict(f"unknown; known are {', '.join(ENTITIES)}", ("detector", "entities"), place)
        for name in self.patterns:
            if name in ENTITIES:
                message = f"{name} is the name of an entity of spanhook; give the pattern another name"
                yield Conflict(message, ("patterns",), name)
        if self.keep_last and self.action == "placeholder":
            message = "keep_last is for masks; with action: placeholder, values are restored in full"
            yield Conflict(message, ("action", "keep_last"))
        if self.stream == "window" and self.action == "placeholder":
            message = "placeholders are restored in whole results; use stream: buffer, or another action"
            yield Conflict(message, ("action", "stream"))
        if self.stream == "window" and "result" not in self.apply_to:
            message = "stream is about results, and apply_to leaves them out"
            yield Conflict(message, ("apply_to", "stream"))


def entities_of(config: Config) -> list[Entity]:
    """What is to be looked for.

    Raises:
        ConfigurationError: A pattern cannot be used, or a package is missing.
    """
    names = DEFAULTS if config.entities is None else config.entities
    found = [own_entity(name, pattern) for name, pattern in config.patterns.items()]
    found += [ENTITIES[name] for name in dict.fromkeys(names) if name in ENTITIES]
    if config.detector == "presidio":
        found += presidio_entities(None if config.entities is None else names)
    if not found:
        raise ConfigurationError("pii_redaction: nothing to look for")
    return found
