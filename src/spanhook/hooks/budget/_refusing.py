"""What the caller reads in a refusal of a budget, and what only its records have."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from spanhook import semconv
from spanhook.hooks.budget._config import Config
from spanhook.model import NANO
from spanhook.store import Amounts, Caps, Standing


def refusal_reason(name: str, config: Config, ends: float | None) -> str:
    """What the caller reads: the limit, and when the budget starts anew; nothing of what others have spent.

    Args:
        name: The name of the budget.
        config: Its settings.
        ends: When its period ends, in seconds since the epoch; ``None`` if it has no end.
    """
    limits = [] if config.tokens is None else [f"{config.tokens:,} tokens"]
    limits += [] if config.usd is None else [_money(config.usd)]
    whose = "" if config.per == "all" else f" per {config.per}"
    window = "" if config.window == "total" else f" {'an' if config.window == 'hour' else 'a'} {config.window}"
    again = ""
    if ends is not None:
        again = f"; it starts anew at {datetime.fromtimestamp(ends, ZoneInfo(config.time_zone)):%Y-%m-%d %H:%M %Z}"
    return f"Budget {name!r} does not suffice for this call: at most {' and '.join(limits)}{window}{whose}{again}"


def refusal_facts(
    caps: Caps, requested: Amounts, account: Standing, own: Amounts, ends: float | None
) -> dict[str, str | int | float]:
    """The figures of a refusal, as attributes of its records.

    Args:
        caps: The limits.
        requested: What the call needs by estimate.
        account: The account as it is.
        own: What is reserved for this call already, for the request as it was before a rewrite.
        ends: When the period ends, in seconds since the epoch; ``None`` if it has no end.
    """
    facts: dict[str, str | int | float] = {}
    if caps.tokens is not None:
        facts[semconv.BUDGET_SPENT_TOKENS] = account.spent.tokens
        facts[semconv.BUDGET_RESERVED_TOKENS] = account.reserved.tokens - own.tokens
        facts[semconv.BUDGET_REQUESTED_TOKENS] = requested.tokens
        facts[semconv.BUDGET_LIMIT_TOKENS] = caps.tokens
    if caps.nano is not None:
        facts[semconv.BUDGET_SPENT_USD] = account.spent.nano / NANO
        facts[semconv.BUDGET_RESERVED_USD] = (account.reserved.nano - own.nano) / NANO
        facts[semconv.BUDGET_REQUESTED_USD] = requested.nano / NANO
        facts[semconv.BUDGET_LIMIT_USD] = caps.nano / NANO
    if ends is not None:
        facts[semconv.BUDGET_RESETS_AT] = datetime.fromtimestamp(ends, UTC).isoformat(timespec="seconds")
    return facts


def _money(usd: float) -> str:
    """Dollars in whole cents, or as they are if there are fractions of one."""
    return f"${usd:,.2f}" if round(usd, 2) == usd else f"${usd:.10g}"
