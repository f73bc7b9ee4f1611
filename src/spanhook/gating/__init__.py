"""Hooks, and running them. It knows no library and no wrapper."""

from spanhook.gating._decisions import unanswered
from spanhook.gating.binding import AFTER, ERROR, WATCH, Bound
from spanhook.gating.chain import Chain
from spanhook.gating.conclusion import conclude
from spanhook.gating.control_flow import Control, control, controls
from spanhook.gating.fast_path import pass_fast
from spanhook.gating.hook import Hook, again, bridge
from spanhook.gating.loader import check_file, is_path, load_hooks
from spanhook.gating.places import Placed, where
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
    "Control",
    "Hook",
    "Hooks",
    "Placed",
    "Plan",
    "Registry",
    "Subscription",
    "again",
    "bridge",
    "check_file",
    "conclude",
    "control",
    "controls",
    "count_decision",
    "is_path",
    "load_hooks",
    "pass_fast",
    "publish",
    "unanswered",
    "where",
]
