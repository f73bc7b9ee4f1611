"""Providers and exporters that commands create; the console is separate, in ``console``."""

from spanhook.export.environment import SIGNALS, asked, disabled, endpoint
from spanhook.export.providers import end_within, existing, flush, setup

__all__ = [
    "SIGNALS",
    "asked",
    "disabled",
    "end_within",
    "endpoint",
    "existing",
    "flush",
    "setup",
]
