"""The database of the control plane: its tables, and what is written to and read from them.

It needs the extra ``server``; nothing that works without it imports this package. It knows no hooks and no HTTP.
"""

from spanhook.store.control import tables
from spanhook.store.control.columns import clean
from spanhook.store.control.database import Database
from spanhook.store.control.decisions import DecisionFilter, StoredDecision, decisions_page
from spanhook.store.control.executions import (
    Execution,
    ExecutionEntry,
    HookFigures,
    executions_page,
    find_execution,
    hook_figures,
    record_executions,
)
from spanhook.store.control.facts import Used
from spanhook.store.control.hook_reports import HookCount, take_report
from spanhook.store.control.ingestor import FullError, IngestFigures, IngestLimits, Ingestor, Kept
from spanhook.store.control.paging import CursorError, Page
from spanhook.store.control.retention import Retention, RetentionFigures, RetentionLimits
from spanhook.store.control.run_filters import RunFilter
from spanhook.store.control.runs import Run, RunDetail, run_detail, runs_page
from spanhook.store.control.stored import StoredEvent, StoredLog, StoredSpan
from spanhook.store.control.usage import UsageBy, UsageRow, usage_by
from spanhook.store.control.wire import IngestError, MalformedError, TooLargeError, UnsupportedError

__all__ = [
    "CursorError",
    "Database",
    "DecisionFilter",
    "Execution",
    "ExecutionEntry",
    "FullError",
    "HookCount",
    "HookFigures",
    "IngestError",
    "IngestFigures",
    "IngestLimits",
    "Ingestor",
    "Kept",
    "MalformedError",
    "Page",
    "Retention",
    "RetentionFigures",
    "RetentionLimits",
    "Run",
    "RunDetail",
    "RunFilter",
    "StoredDecision",
    "StoredEvent",
    "StoredLog",
    "StoredSpan",
    "TooLargeError",
    "UnsupportedError",
    "UsageBy",
    "UsageRow",
    "Used",
    "clean",
    "decisions_page",
    "executions_page",
    "find_execution",
    "hook_figures",
    "record_executions",
    "run_detail",
    "runs_page",
    "tables",
    "take_report",
    "usage_by",
]
