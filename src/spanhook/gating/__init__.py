"""Hooks, and running them. It knows no library and no wrapper."""

from spanhook.concurrency import per_loop
from spanhook.gating._asking import Waiting
from spanhook.gating._charges import Charge, get_charge
from spanhook.gating._checking import check_signature, time_limit
from spanhook.gating._decisions import unanswered
from spanhook.gating._refusals import again, returned_refusal
from spanhook.gating._topics import parse_event
from spanhook.gating._waiting import Told, tell_waiting, waiting
from spanhook.gating.auditing import Auditor, in_shadow, tell_decided, tell_ended
from spanhook.gating.binding import (
    AFTER,
    AFTER_NEXT,
    AROUND,
    BEFORE,
    BEFORE_NEXT,
    ERROR,
    WATCH,
    WRAP,
    Bound,
    bindings,
)
from spanhook.gating.conclusion import conclude
from spanhook.gating.conditions import Condition, Facts, compile_condition, references, united
from spanhook.gating.control_flow import Control, control, controls
from spanhook.gating.emitting import emit_event
from spanhook.gating.estimating import estimated_cost
from spanhook.gating.handlers import Marked, find, handler, handler_of, make, named, set_up
from spanhook.gating.hook import UNSET, FailMode, FunctionHook, Hook, HookSettings, bridge
from spanhook.gating.last_look import LastLook
from spanhook.gating.limits import Limits
from spanhook.gating.loader import check_file, is_path, load_hooks, load_object, module_at
from spanhook.gating.log import (
    ChainRun,
    ExecutionLog,
    HookChainResult,
    HookExecutionLog,
    HookResult,
    ResultListener,
    chain_of,
    execution_log,
)
from spanhook.gating.loosening import Enforcement, loosened, report_loosened
from spanhook.gating.measuring import Gauge, Measure, Measures
from spanhook.gating.offers import Offers, hooks_of
from spanhook.gating.pausing import Pausable, Pause, pausable, pauses
from spanhook.gating.places import Placed, placed_at, where
from spanhook.gating.plan import Plan
from spanhook.gating.registering import Hooks
from spanhook.gating.registry import Registry
from spanhook.gating.renewal import renewed_after_fork
from spanhook.gating.runner import Runner
from spanhook.gating.shadow import Isolate, isolating
from spanhook.gating.strictness import NEUTRAL, STORE_ROLE, Looser
from spanhook.gating.subscription import Subscriber, Subscription, publish
from spanhook.gating.tally import count_decision
from spanhook.gating.text_filters import TextFilter, Windowed
from spanhook.gating.validating import EXPECTED, quotes, validated
from spanhook.gating.window import Window
from spanhook.telemetry import concealed_data, guardrail

__all__ = [
    "AFTER",
    "AFTER_NEXT",
    "AROUND",
    "BEFORE",
    "BEFORE_NEXT",
    "ERROR",
    "EXPECTED",
    "NEUTRAL",
    "STORE_ROLE",
    "UNSET",
    "WATCH",
    "WRAP",
    "Auditor",
    "Bound",
    "ChainRun",
    "Charge",
    "Condition",
    "Control",
    "Enforcement",
    "ExecutionLog",
    "Facts",
    "FailMode",
    "FunctionHook",
    "Gauge",
    "Hook",
    "HookChainResult",
    "HookExecutionLog",
    "HookResult",
    "HookSettings",
    "Hooks",
    "Isolate",
    "LastLook",
    "Limits",
    "Looser",
    "Marked",
    "Measure",
    "Measures",
    "Offers",
    "Pausable",
    "Pause",
    "Placed",
    "Plan",
    "Registry",
    "ResultListener",
    "Runner",
    "Subscriber",
    "Subscription",
    "TextFilter",
    "Told",
    "Waiting",
    "Window",
    "Windowed",
    "again",
    "bindings",
    "bridge",
    "chain_of",
    "check_file",
    "check_signature",
    "compile_condition",
    "concealed_data",
    "conclude",
    "control",
    "controls",
    "count_decision",
    "emit_event",
    "estimated_cost",
    "execution_log",
    "find",
    "get_charge",
    "guardrail",
    "handler",
    "handler_of",
    "hooks_of",
    "in_shadow",
    "is_path",
    "isolating",
    "load_hooks",
    "load_object",
    "loosened",
    "make",
    "module_at",
    "named",
    "parse_event",
    "pausable",
    "pauses",
    "per_loop",
    "placed_at",
    "publish",
    "quotes",
    "references",
    "renewed_after_fork",
    "report_loosened",
    "returned_refusal",
    "set_up",
    "tell_decided",
    "tell_ended",
    "tell_waiting",
    "time_limit",
    "unanswered",
    "united",
    "validated",
    "waiting",
    "where",
]
