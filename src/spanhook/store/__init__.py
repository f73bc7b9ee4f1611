"""Storage beyond one operation, in memory and on disk. This package knows no hooks, spans or metrics."""

from spanhook.store.addresses import Address, parse_address
from spanhook.store.approvals import ApprovalError, ApprovalRequest, Approvals, ApprovalStatus
from spanhook.store.audit_chain import ZERO, Entry, digest, sealed
from spanhook.store.audit_check import FileReport, verify
from spanhook.store.audit_file import AuditFile, Fsync, Head
from spanhook.store.books import LEASE_S, Book, Reservation
from spanhook.store.frames import MOST_FRAMES, Frame, FrameMemory, FrameType, SessionStatistics
from spanhook.store.ledger import MOST, Amounts, Caps, Expired, Ledger, Standing
from spanhook.store.memory_frames import MemoryFrames
from spanhook.store.memory_ledger import MemoryLedger
from spanhook.store.opening import open_approvals, open_book, open_states
from spanhook.store.outbox import Due, Outbox, Outcome, State
from spanhook.store.rotating_file import RotatingFile
from spanhook.store.sqlite_frames import SQLiteFrames
from spanhook.store.sqlite_outbox import Entry as OutboxEntry
from spanhook.store.sqlite_outbox import SQLiteOutbox
from spanhook.store.states import MemoryStates, PostgresStates, SQLiteStates, States
from spanhook.store.waiting import in_worker, may_wait

__all__ = [
    "LEASE_S",
    "MOST",
    "MOST_FRAMES",
    "ZERO",
    "Address",
    "Amounts",
    "ApprovalError",
    "ApprovalRequest",
    "ApprovalStatus",
    "Approvals",
    "AuditFile",
    "Book",
    "Caps",
    "Due",
    "Entry",
    "Expired",
    "FileReport",
    "Frame",
    "FrameMemory",
    "FrameType",
    "Fsync",
    "Head",
    "Ledger",
    "MemoryFrames",
    "MemoryLedger",
    "MemoryStates",
    "Outbox",
    "OutboxEntry",
    "Outcome",
    "PostgresStates",
    "Reservation",
    "RotatingFile",
    "SQLiteFrames",
    "SQLiteOutbox",
    "SQLiteStates",
    "SessionStatistics",
    "Standing",
    "State",
    "States",
    "digest",
    "in_worker",
    "may_wait",
    "open_approvals",
    "open_book",
    "open_states",
    "parse_address",
    "sealed",
    "verify",
]
