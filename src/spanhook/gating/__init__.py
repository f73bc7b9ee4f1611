"""Hooks, and running them. It knows no library and no wrapper."""

from spanhook.gating._checking import check_signature, time_limit
from spanhook.gating._decisions import unanswered
from spanhook.gating.binding import AFTER, BEFORE, ERROR, WATCH, Bound
from spanhook.gating.chain import Chain
from spanhook.gating.conclusion import conclude
from spanhook.gating.control_flow import Control, control, controls
from spanhook.gating.fast_path import pass_fast
from spanhook.gating.hook import UNSET, FunctionHook, Hook, again, bridge
from spanhook.gating.limits import Limits
from spanhook.gating.loader import check_file, is_path, load_hooks, load_object, module_at
from spanhook.gating.places import Placed, where
from spanhook.gating.plan import Plan
from spanhook.gating.registering import Hooks, Offers, hooks_of
from spanhook.gating.registry import Registry
from spanhook.gating.subscription import Subscription, publish
from spanhook.gating.tally import count_decision

__all__ = [
    "AFTER",
    "BEFORE",
    "ERROR",
    "UNSET",
    "WATCH",
    "Bound",
    "Chain",
    "Control",
    "FunctionHook",
    "Hook",
    "Hooks",
    "Limits",
    "Offers",
    "Placed",
    "Plan",
    "Registry",
    "Subscription",
    "again",
    "bridge",
    "check_file",
    "check_signature",
    "conclude",
    "control",
    "controls",
    "count_decision",
    "hooks_of",
    "is_path",
    "load_hooks",
    "load_object",
    "module_at",
    "pass_fast",
    "publish",
    "time_limit",
    "unanswered",
    "where",
]
