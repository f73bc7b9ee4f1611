"""Tools that trigger hooks, and what the hooks must do.

Written by hand, from the documented behaviour of the hooks in ``hooks``.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from spanhook.cli.load.facts import REJECT, Decided
from spanhook.semconv import Decision, Phase, Status

Ending = tuple[Status, str]
"""The status and the ``error.type`` with which a step ends the run."""
Told = tuple[str, Phase, Decision]
"""A hook, the phase in which it decided, and its decision."""
AUDIT: Told = ("audit", "pre", "allow")


@dataclass(frozen=True, slots=True)
class Trick:
    """A tool that triggers hooks, and what the hooks must do.

    Attributes:
        tool, about: The tool and its argument.
        decisions: Besides that of ``audit``, which allows every tool call.
        ending: How it ends the run, if it does.
    """

    tool: str
    decisions: tuple[Told, ...] = ()
    about: str = "this"
    status: Status = "success"
    error_type: str = ""
    called: bool = True
    ending: Ending | None = None

    @property
    def decided(self) -> tuple[Decided, ...]:
        told = (AUDIT, *self.decisions)
        return tuple(Decided(hook, f"tool.execute.{phase}", decision) for hook, phase, decision in told)


def _refused(tool: str, *decisions: Told, called: bool = False) -> Trick:
    return Trick(tool, decisions, status="rejected", error_type=REJECT, called=called)


TRICKS: Mapping[str, Trick] = {
    "search": Trick("search", (("cached", "post", "allow"),)),
    "search again": Trick("search", (("cached", "pre", "replace"),), about="known", called=False),
    "fetch": Trick("fetch", (("scanned", "pre", "allow"),)),
    "mail": Trick("send_mail", (("masked", "pre", "modify"), AUDIT), about="ann@example.com"),
    "read": Trick("read_file", (("redacted", "post", "replace"),)),
    "publish": Trick("publish", (("judged", "pre", "allow"),)),
    "look up": Trick("look_up", (("directory", "pre", "timeout"),)),
    "sign": Trick(
        "sign",
        (("reviewed", "pre", "allow"), ("noted", "pre", "allow"), ("archived", "post", "skipped")),
    ),
    "refund": _refused("refund", ("paying_customers_only", "pre", "reject")),
    "charge": _refused("charge", ("fraud_check", "pre", "timeout")),
    "rotate": _refused("rotate_key", ("vault", "pre", "error")),
    "export": _refused("export", ("withheld", "post", "reject"), called=True),
    "wire": Trick(
        "wire_money",
        (("stop_the_run", "pre", "reject"),),
        status="rejected",
        error_type=REJECT,
        called=False,
        ending=("rejected", REJECT),
    ),
    "close": Trick(
        "close_account",
        (("ask_a_person", "pre", "pause"),),
        status="interrupted",
        called=False,
        ending=("interrupted", ""),
    ),
    "close, agreed": Trick("close_account", (("ask_a_person", "pre", "allow"),)),
    "break": Trick("break_down", status="error", error_type="ValueError", ending=("error", "ValueError")),
    "delegate": Trick("delegate"),
}
