"""Tools that trigger hooks, and what the hooks must do.

Written by hand, from the documented behaviour of the hooks in ``hooks``.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from spanhook.cli.load.facts import REJECT, Asked, Decided
from spanhook.cli.load.policies import NOT_NOW, TOO_MUCH
from spanhook.model import HookMode
from spanhook.semconv import Decision, Phase, Status

Ending = tuple[Status, str]
"""The status and the ``error.type`` with which a step ends the run."""
Told = tuple[str, Phase, Decision]
"""A hook, the phase in which it decided, and its decision."""
AUDIT: Told = ("audit", "pre", "allow")
ON_TRIAL = "globex"
"""The tenant whose searches a hook in shadow mode would reject."""
ASKED: Told = ("ask_a_person", "post", "allow")
"""An approval also looks at how a call has ended."""
MEMBERS_ONLY: Told = ("members_only", "pre", "reject")
"""What that hook would decide about them."""


@dataclass(frozen=True, slots=True)
class Trick:
    """A tool that triggers hooks, and what the hooks must do.

    Attributes:
        tool, about: The tool and its argument.
        decisions: Besides that of ``audit``, which allows every tool call.
        shadowed: What hooks in shadow mode would have decided, for every tenant.
        approvals: What becomes of its request for approval.
        asked: What a remote policy is asked about it.
        ending: How it ends the run, if it does.
    """

    tool: str
    decisions: tuple[Told, ...] = ()
    about: str = "this"
    status: Status = "success"
    error_type: str = ""
    called: bool = True
    ending: Ending | None = None
    shadowed: tuple[Told, ...] = ()
    approvals: tuple[str, ...] = ()
    asked: tuple[Asked, ...] = ()

    def decided(self, tenant: str) -> tuple[Decided, ...]:
        """Every decision about it, for a tenant."""
        on_trial = (MEMBERS_ONLY,) if self.tool == "search" and tenant == ON_TRIAL else ()
        return (
            *_about_tools("enforce", AUDIT, *self.decisions),
            *_about_tools("shadow", *self.shadowed, *on_trial),
        )


def _about_tools(mode: HookMode, *told: Told) -> Iterator[Decided]:
    for hook, phase, decision in told:
        yield Decided(hook, f"tool.execute.{phase}", decision, mode=mode)


def _refused(tool: str, *decisions: Told, called: bool = False, shadowed: tuple[Told, ...] = ()) -> Trick:
    return Trick(tool, decisions, status="rejected", error_type=REJECT, called=called, shadowed=shadowed)


TRICKS: Mapping[str, Trick] = {
    "search": Trick("search", (("cached", "post", "allow"),)),
    "search again": Trick("search", (("cached", "pre", "replace"),), about="known", called=False),
    "fetch": Trick("fetch", (("scanned", "pre", "allow"),), shadowed=(("deep_scan", "pre", "timeout"),)),
    "mail": Trick(
        "send_mail",
        (("masked", "pre", "modify"), AUDIT),
        about="ann@example.com",
        shadowed=(("spam_filter", "pre", "error"),),
    ),
    "read": Trick("read_file", (("redacted", "post", "replace"),), shadowed=(("classified", "pre", "error"),)),
    "publish": Trick("publish", (("judged", "pre", "allow"),), shadowed=(("house_style", "pre", "modify"),)),
    "look up": Trick("look_up", (("directory", "pre", "timeout"),)),
    "sign": Trick(
        "sign",
        (("reviewed", "pre", "allow"), ("noted", "pre", "allow"), ("archived", "post", "skipped")),
    ),
    "refund": _refused(
        "refund", ("paying_customers_only", "pre", "reject"), shadowed=(("second_look", "pre", "allow"),)
    ),
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
        (("ask_a_person", "pre", "pause"), ASKED),
        status="interrupted",
        called=False,
        ending=("interrupted", ""),
        approvals=("requested",),
    ),
    "close, agreed": Trick("close_account", (("ask_a_person", "pre", "allow"), ASKED), approvals=("approved", "used")),
    "close, denied": Trick(
        "close_account",
        (("ask_a_person", "pre", "reject"),),
        status="rejected",
        error_type=REJECT,
        called=False,
        approvals=("denied",),
    ),
    "pay": Trick(
        "transfer",
        (("payments", "pre", "allow"), ("payments", "post", "allow")),
        asked=(Asked("payments", "allow", "allowed"),),
    ),
    "pay too much": Trick(
        "transfer",
        (("payments", "pre", "reject"),),
        about=TOO_MUCH,
        status="rejected",
        error_type=REJECT,
        called=False,
        asked=(Asked("payments", "deny", "denied"),),
    ),
    "pay at night": Trick(
        "transfer",
        (("payments", "pre", "error"),),
        about=NOT_NOW,
        status="rejected",
        error_type=REJECT,
        called=False,
        asked=(Asked("payments", "error", "failed", "spanhook.hooks.remote_policy.PolicyOverloaded", attempts=2),),
    ),
    "break": Trick("break_down", status="error", error_type="ValueError", ending=("error", "ValueError")),
    "delegate": Trick("delegate", shadowed=(("summarized", "post", "replace"),)),
}
