"""The variants: a base, single changes from it, and the variant for which there are targets."""

from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from typing import Any, Literal

OPERATIONS = ("agent.invoke", "llm.call", "tool.execute")
"""The kinds that most variants' hooks are for; hooks for ``*`` also make every graph step an operation."""


READY_MADE = {
    "tool policy": "ten rules for every tool, each with a condition on an argument",
    "budget": "tokens and money of each run, in memory; a call outside of an agent is a run of its own",
    "budget sqlite": "the same in an SQLite file, without the time that transactions wait for it",
    "rate limit": "two rates, fixed windows, in memory",
    "circuit breaker": "closed",
    "loop guard": "as it is unless set otherwise",
    "pii redaction": "nothing to redact",
    "pii window": "the same, streams as they arrive",
    "injection scan": "nothing to find",
    "audit log": "a file, without its contents",
    "console log": "a line for each tool and model call that ends, printed to nowhere",
    "file log": "the same lines as JSON in a file, without contents",
    "webhook forwarder": "each end as an event, whose receiver is away; threads included",
    "remote policy": "a service on loopback is asked, without the time of the service itself",
    "cedar policy": "two policies in the process",
    "rego policy": "one rule in the process",
}
NEEDED = {
    "webhook forwarder": "standardwebhooks",
    "remote policy": "httpx",
    "cedar policy": "cedarpy",
    "rego policy": "regopy",
}
"""Packages without which a ready-made hook cannot be measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """How a process is set up.

    Attributes:
        instrumented: False for the control, which never imports spanhook.
        hooks: How many no-op ``before`` hooks there are.
        asynchronous: Whether they are ``async def``.
        mixed: Whether there is one of each form: ``before``, ``after`` and a generator ``around``.
        ready: The ready-made hook that is there, as named in ``benchmarks.ready_made``; empty for none.
        subscribed: Whether a subscription listens to everything.
        kinds: The kinds of operation that the hooks are for.
        sampling: ``off`` is a sampler that keeps nothing; ``parent_off`` is a trace that was not sampled upstream.
        content: Whether messages are recorded on spans.
        peer: The distribution that instruments instead of spanhook; empty for spanhook.
        metrics, logs: Whether there is a meter provider, a logger provider.
    """

    name: str
    about: str
    instrumented: bool = True
    hooks: int = 0
    asynchronous: bool = False
    mixed: bool = False
    ready: str = ""
    subscribed: bool = False
    kinds: tuple[str, ...] = OPERATIONS
    sampling: Literal["on", "off", "parent_off"] = "on"
    content: bool = False
    peer: str = ""
    metrics: bool = False
    logs: bool = False

    @property
    def can_be_made(self) -> bool:
        """Whether what it needs is installed."""
        return self.ready not in NEEDED or find_spec(NEEDED[self.ready]) is not None

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, told: dict[str, Any]) -> "Variant":
        told["kinds"] = tuple(told["kinds"])
        return cls(**told)


CONTROL = Variant(name="control", about="not instrumented", instrumented=False)
BASE = Variant(name="base", about="sampled, no hooks, no content, no meter or logger provider")
TARGET = Variant(name="3 hooks", about="what the targets are for: before, plain", hooks=3)
MIXED = Variant(name="mixed hooks", about="one before, one after, one generator around", mixed=True)
UNSAMPLED = Variant(name="sampler off", about="ALWAYS_OFF", sampling="off")
METER = Variant(name="meter", about="a meter provider", metrics=True)
LOGGER = Variant(name="logger", about="a logger provider", logs=True)

VARIANTS = (
    CONTROL,
    BASE,
    TARGET,
    Variant(name="10 hooks", about="", hooks=10),
    Variant(name="1 async hook", about="one async def hook, whatever the call is", hooks=1, asynchronous=True),
    Variant(name="3 async hooks", about="async def hooks, whatever the call is", hooks=3, asynchronous=True),
    Variant(name="10 async hooks", about="", hooks=10, asynchronous=True),
    MIXED,
    *(Variant(name=name, about=about, ready=name) for name, about in READY_MADE.items()),
    Variant(name="subscribed", about="a subscription to every event", subscribed=True),
    Variant(name="3 hooks on *", about="every step of a graph is an operation too", hooks=3, kinds=("*",)),
    UNSAMPLED,
    Variant(name="parent not sampled", about="inside a trace that was not sampled upstream", sampling="parent_off"),
    Variant(name="content", about="messages on spans", content=True),
    METER,
    LOGGER,
)


def together(hooks: Variant, setting: Variant) -> str:
    """The name of the variant that has the hooks of one and the setting of the other."""
    return f"{hooks.name} and {setting.name}"


def _both(hooks: Variant, setting: Variant) -> Variant:
    about = f"{hooks.name}, {setting.about}"
    return replace(setting, name=together(hooks, setting), about=about, hooks=hooks.hooks, mixed=hooks.mixed)


TOGETHER = tuple(_both(hooks, setting) for setting in (UNSAMPLED, METER, LOGGER) for hooks in (TARGET, MIXED))
"""Two changes at once; measured when they are asked for."""
USUAL = ("base", "3 hooks", "mixed hooks", "1 async hook")
"""What most users have."""


def named(name: str) -> Variant:
    """The variant of that name.

    Raises:
        KeyError: There is none.
    """
    return {variant.name: variant for variant in (*VARIANTS, *TOGETHER)}[name]
