"""Spans, metrics, events and cost of one ended operation. Knows no hooks."""

from spanhook.telemetry._concealing import WITHHELD, Concealer, concealed_data, concealed_for, use_concealers
from spanhook.telemetry._greenlets import forking, forking_warning, own_providers
from spanhook.telemetry._guardrail import Guardrail, guardrail
from spanhook.telemetry._report import mark, report, report_decision
from spanhook.telemetry.accounting import account
from spanhook.telemetry.counters import Key, Vector
from spanhook.telemetry.metrics import BUCKETS, COST, SCOPE, UNPRICED, Snapshot, counts
from spanhook.telemetry.otel_context import get_context, set_context
from spanhook.telemetry.pipeline import telemetry
from spanhook.telemetry.pricing import prices
from spanhook.telemetry.spans import context_with, quiet

__all__ = [
    "BUCKETS",
    "COST",
    "SCOPE",
    "UNPRICED",
    "WITHHELD",
    "Concealer",
    "Guardrail",
    "Key",
    "Snapshot",
    "Vector",
    "account",
    "concealed_data",
    "concealed_for",
    "context_with",
    "counts",
    "forking",
    "forking_warning",
    "get_context",
    "guardrail",
    "mark",
    "own_providers",
    "prices",
    "quiet",
    "report",
    "report_decision",
    "set_context",
    "telemetry",
    "use_concealers",
]
