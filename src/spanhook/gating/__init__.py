"""Hooks, and running them. It knows no library and no wrapper."""

from spanhook.gating._checking import parse_event
from spanhook.gating._decisions import unanswered
from spanhook.gating.binding import AFTER, ERROR, WATCH, Bound
from spanhook.gating.chain import Chain
from spanhook.gating.conclusion import conclude
from spanhook.gating.conditions import Condition, Context, compile_condition, references, united
from spanhook.gating.control_flow import Control, control, controls
from spanhook.gating.fast_path import pass_fast
from spanhook.gating.handlers import Marked, find, handler, handler_of, make, named, set_up
from spanhook.gating.hook import Hook, again, bridge
from spanhook.gating.limits import Limits
from spanhook.gating.loader import check_file, is_path, load_hooks
from spanhook.gating.places import Placed, placed_at, where
from spanhook.gating.plan import Plan
from spanhook.gating.registering import Hooks
from spanhook.gating.registry import Registry
from spanhook.gating.subscription import Subscription, publish
from spanhook.gating.tally import count_decision

__all__ = [
    "AFTER",
    "ERROR",
    "WATCH",
    "Bound",
    "Chain",
    "Condition",
    "Context",
    "Control",
    "Hook",
    "Hooks",
    "Limits",
    "Marked",
    "Placed",
    "Plan",
    "Registry",
    "Subscription",
    "again",
    "bridge",
    "check_file",
    "compile_condition",
    "conclude",
    "control",
    "controls",
    "count_decision",
    "find",
    "handler",
    "handler_of",
    "is_path",
    "load_hooks",
    "make",
    "named",
    "parse_event",
    "pass_fast",
    "placed_at",
    "publish",
    "references",
    "set_up",
    "unanswered",
    "united",
    "where",
]
