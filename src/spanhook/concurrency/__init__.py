"""Threads, event loops and coroutines, for asyncio and Trio. Knows nothing of hooks."""

from spanhook.concurrency.async_library import is_being_cancelled, is_cancellation, running, running_loop, under_trio
from spanhook.concurrency.awaiting import ended, give_up, where
from spanhook.concurrency.coroutines import astep, drive, park, rest
from spanhook.concurrency.ending import Ending
from spanhook.concurrency.handling import handled_in
from spanhook.concurrency.loops import OwnLoop, block_on, private_loops, ready_for_exit
from spanhook.concurrency.remote import NEXT, SLICE_S, Remote
from spanhook.concurrency.resources import cross_loop_hint, per_loop
from spanhook.concurrency.threads import Dropped, OwnThread, Workers, begin, reaper
from spanhook.concurrency.waiting import AsyncioBell, Bell, TrioBell, bell_of_loop, shielded, shielded_for

__all__ = [
    "NEXT",
    "SLICE_S",
    "AsyncioBell",
    "Bell",
    "Dropped",
    "Ending",
    "OwnLoop",
    "OwnThread",
    "Remote",
    "TrioBell",
    "Workers",
    "astep",
    "begin",
    "bell_of_loop",
    "block_on",
    "cross_loop_hint",
    "drive",
    "ended",
    "give_up",
    "handled_in",
    "is_being_cancelled",
    "is_cancellation",
    "park",
    "per_loop",
    "private_loops",
    "ready_for_exit",
    "reaper",
    "rest",
    "running",
    "running_loop",
    "shielded",
    "shielded_for",
    "under_trio",
    "where",
]
