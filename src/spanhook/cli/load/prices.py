"""What the scripted model calls must cost: looked up exactly in the installed price list, call by call."""

from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from importlib import metadata
from typing import Any

from spanhook.cli.load.facts import Tokens

SOURCE = "price list"
NANO = Decimal(10) ** 9


@cache
def _library() -> Any:
    try:
        import genai_prices
    except ImportError:
        return None
    return genai_prices


def price_list() -> str | None:
    """Name and version of the price list, on which costs depend; ``None`` if there is none and nothing has a price."""
    return f"genai-prices {metadata.version('genai-prices')}" if _library() is not None else None


@cache
def price(tokens: Tokens, provider: str, model: str) -> int | None:
    """The cost of one call in nano-dollars; ``None`` if the model has no known price."""
    library = _library()
    if library is None:
        return None
    used = library.Usage(
        input_tokens=tokens.prompt,
        output_tokens=tokens.completion,
        cache_read_tokens=tokens.cache_read,
        cache_write_tokens=tokens.cache_write,
    )
    try:
        dollars: Decimal = library.calc_price(used, model, provider_id=provider).total_price
    except LookupError:
        return None
    return int((dollars * NANO).to_integral_value(ROUND_HALF_UP))
