"""What is kept beyond one operation, in memory and on disk. It knows no hooks, no spans and no metrics."""

from spanhook.store.frames import MOST_FRAMES, Frame, FrameMemory, FrameType, SessionStatistics
from spanhook.store.memory_frames import MemoryFrames
from spanhook.store.sqlite_frames import SQLiteFrames

__all__ = ["MOST_FRAMES", "Frame", "FrameMemory", "FrameType", "MemoryFrames", "SQLiteFrames", "SessionStatistics"]
