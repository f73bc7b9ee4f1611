"""How values are written on pages."""

import json
from datetime import UTC, datetime
from typing import Any

LONGEST = 20_000
"""Characters of one text that are shown."""
_UNITS = ((1e9, "B"), (1e6, "M"), (1e3, "k"))


def count(value: float) -> str:
    """A number in a few characters, such as ``12.3k``; whole below ten thousand."""
    if abs(value) < 10_000:
        return f"{value:,.0f}"
    for size, unit in _UNITS:
        if abs(value) >= size:
            return f"{value / size:.1f}".removesuffix(".0") + unit
    return f"{value:,.0f}"


def money(usd: float | None) -> str:
    """US dollars, as exactly as they matter; a dash for what has no price."""
    if usd is None:
        return "\u2013"
    if usd == 0:
        return "$0"
    if abs(usd) < 0.01:
        return f"${usd:.5f}".rstrip("0") if abs(usd) >= 0.000005 else "<$0.00001"
    return f"${usd:,.2f}" if abs(usd) >= 1 else f"${usd:.3f}"


def duration(seconds: float) -> str:
    """A time span, such as ``340 ms`` or ``2 min 5 s``."""
    if seconds < 0.001:
        return f"{max(0.0, seconds) * 1e6:.0f} \u00b5s"
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min"


def when(time: datetime) -> str:
    """A time in UTC, for people; without the year if it is this one."""
    own = time.astimezone(UTC)
    year = "" if own.year == datetime.now(UTC).year else f" {own.year}"
    return f"{own.day} {own:%b}{year}, {own:%H:%M:%S}"


def iso(time: datetime) -> str:
    """A time in UTC, for programs."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def pretty(value: Any) -> str:
    """Plain data as indented JSON; a text that is JSON likewise, and any other as it is."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return value
        if not isinstance(value, dict | list):
            return str(value)
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


def cut(text: str) -> str:
    """A text, as far as it can be shown."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}\u2026"


FILTERS = {"cut": cut, "count": count, "money": money, "duration": duration, "when": when, "iso": iso, "pretty": pretty}
"""The filters of templates."""
