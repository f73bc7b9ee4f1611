"""What a model call costs, from the price lists of ``genai-prices`` (the ``prices`` extra).

A look-up takes about 60 us, so prices per token are cached for a minute, by model and by order of magnitude of the
prompt: some models cost more per token beyond a threshold, and some cost less at night.
"""

import time
from contextlib import suppress
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from spanhook.diagnostics import internal
from spanhook.fork import after_fork
from spanhook.model import Usage

KEEP_SECONDS = 60.0
MAX_KEPT = 1000
_PICO = 10**12

#: Providers whose names in the price lists differ from the conventions'.
_PROVIDER_IDS = {
    "azure.ai.openai": "azure",
    "azure.ai.inference": "azure",
    "gcp.gemini": "google",
    "gcp.gen_ai": "google",
    "gcp.vertex_ai": "google",
    "aws.bedrock": "aws",
    "mistral_ai": "mistral",
    "x_ai": "x-ai",
}

Rates = tuple[int, int, int, int]
"""Pico-dollars per token: input, cache read, cache write, output."""
LOOK_UP: Rates = (-1, -1, -1, -1)
"""Per-token rates cannot express these prices; each call is looked up."""


class Prices:
    """Prices by provider and model. Without ``genai-prices`` installed, every model is unpriced."""

    def __init__(self) -> None:
        self.renew()
        self._library: Any = None
        self._missing = False

    def renew(self) -> None:
        self._rates: dict[tuple[str, str, int], tuple[float, Rates | None]] = {}

    def load(self) -> bool:
        """Import the price lists (about a quarter of a second) before the first call needs them."""
        if self._library is None and not self._missing:
            try:
                import genai_prices
            except ImportError:
                self._missing = True
            else:
                self._library = genai_prices
                # The first look-up unpacks the lists; it must not be counted as part of a model call.
                self._calculate(Usage(1, 1), "openai", "gpt-4o-mini")
        return self._library is not None

    def price(self, used: Usage, provider: str, model: str) -> None:
        """Fill in cost, source and unpriced tokens of ``used``; a cost the provider reported is kept."""
        if used.cost_nano is not None:
            return
        kept = self._rates.get((provider, model, used.input_tokens.bit_length()))
        if kept is not None and kept[0] >= time.monotonic() and not used.uncounted and not used.apart:
            rates = kept[1]
            if rates is not None and rates is not LOOK_UP and not used.cache_hour_tokens:  # as nearly always
                used.cost_nano, used.cost_source = _at(rates, used), "price list"
                return
        if used.apart:
            self._price_apart(used, provider, model)
            return
        known = model and not (used.uncounted and used.incomplete) and self.load()
        cost = self._cost(used, provider, model) if known else None
        if cost is None:
            used.unpriced_tokens = used.total_tokens
        else:
            used.cost_nano, used.cost_source = cost, "price list"

    def _price_apart(self, used: Usage, provider: str, model: str) -> None:
        """The same for a call that also used other models."""
        own, parts = used.copied(), used.apart
        own.apart = ()
        for _, part in parts:
            own.subtract(part)
        for name, part in ((model, own), *parts):
            self.price(part, provider, name)
            if part.cost_nano is None:
                used.unpriced_tokens += part.unpriced_tokens
            else:
                used.cost_nano, used.cost_source = (used.cost_nano or 0) + part.cost_nano, part.cost_source

    def _cost(self, used: Usage, provider: str, model: str) -> int | None:
        now = time.monotonic()
        magnitude = used.input_tokens.bit_length()
        key = (provider, model, magnitude)
        kept = self._rates.get(key)
        if kept is None or kept[0] < now:
            kept = (now + KEEP_SECONDS, self._learn(provider, model, magnitude))
            if len(self._rates) >= MAX_KEPT:
                self._rates = {}
            self._rates[key] = kept
        rates = kept[1]
        if rates is None:
            return None
        if rates is LOOK_UP or used.cache_hour_tokens:
            return self._look_up(used, provider, model)
        return _at(rates, used)

    def _learn(self, provider: str, model: str, magnitude: int) -> Rates | None:
        """Rates for prompts of ``2**(magnitude - 1)`` tokens up to the next power of two; ``None`` for an unknown
        model.

        Prices are monotone in the prompt's size, so if both ends of the range agree, the whole range does.
        """
        ends = (max(1, 2**magnitude // 2), max(1, 2**magnitude - 1))
        found = {self._rates_at(provider, model, tokens) for tokens in ends}
        rates = found.pop() if len(found) == 1 else LOOK_UP
        return LOOK_UP if rates == LOOK_UP else rates

    def _rates_at(self, provider: str, model: str, tokens: int) -> Rates | None:
        def cost(output: int = 0, read: int = 0, write: int = 0) -> Decimal | None:
            return self._calculate(Usage(tokens, output, read, write), provider, model)

        plain, read, write, both = cost(), cost(read=tokens), cost(write=tokens), cost(output=tokens)
        if plain is None or read is None or write is None or both is None:
            return None
        exact = [part * _PICO / tokens for part in (plain, read, write, both - plain)]
        if any(rate != int(rate) for rate in exact):
            return LOOK_UP
        return int(exact[0]), int(exact[1]), int(exact[2]), int(exact[3])

    def _look_up(self, used: Usage, provider: str, model: str) -> int | None:
        dollars = self._calculate(used, provider, model)
        return None if dollars is None else int((dollars * 10**9).to_integral_value(ROUND_HALF_UP))

    def _calculate(self, used: Usage, provider: str, model: str) -> Decimal | None:
        library = self._library
        counts = {
            "input_tokens": used.input_tokens,
            "output_tokens": used.output_tokens,
            "cache_read_tokens": used.cache_read_tokens,
            "cache_write_tokens": used.cache_write_tokens,
        }
        counted = library.Usage(**counts)
        if used.cache_hour_tokens:
            with suppress(TypeError, ValueError):  # older price lists do not know such tokens
                counted = library.Usage(**counts, cache_write_1h_tokens=used.cache_hour_tokens)
        known = _PROVIDER_IDS.get(provider, provider)
        for provider_id in dict.fromkeys((known or None, None)):
            try:
                return library.calc_price(counted, model, provider_id=provider_id).total_price
            except LookupError:
                continue
            except Exception as error:
                internal.report("pricing", error)
                return None
        return None


def _at(rates: Rates, used: Usage) -> int:
    """What the tokens cost at these rates, in nano-dollars."""
    read, write = used.cache_read_tokens, used.cache_write_tokens
    pico = (used.input_tokens - read - write) * rates[0] + used.output_tokens * rates[3]
    if read or write:
        pico += read * rates[1] + write * rates[2]
    return (pico + 500) // 1000


prices = Prices()
after_fork("prices", prices.renew)
