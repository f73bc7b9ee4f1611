"""Tokens and cost: what one model call used, and sums over a run.

Terms are those of the GenAI conventions: input tokens include the cached ones, output tokens include reasoning.
Money is an integer of nano-dollars, so that sums are exact. A model without a known price is *unpriced*, never free.
Reports of providers are not trusted: ``Usage.count`` and ``Usage.charge`` accept only plausible token counts and
prices, and list anything else in ``Usage.uncounted``.
"""

import threading
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, Literal

from spanhook.fork import after_fork

NANO = 1_000_000_000
MOST_TOKENS = 10**12
MOST_USD = 10**9
"""More than one call can use or cost; a larger report is a mistake, and would make sums meaningless."""

Source = Literal["provider", "framework", "estimate"]
_RANK: Final[Mapping[Source, int]] = {"provider": 0, "framework": 1, "estimate": 2}


class Usage:
    """Tokens and cost of one model call, or of everything inside an agent or run.

    Attributes:
        input_tokens: Prompt tokens, cached ones included.
        output_tokens: Completion tokens, reasoning included.
        cache_read_tokens: Input tokens served from a provider's cache.
        cache_write_tokens: Input tokens written to a provider's cache.
        reasoning_tokens: Output tokens spent on reasoning.
        cost_nano: Cost in nano-dollars, or ``None`` while no part of it has a known price.
        cost_source: ``"price list"`` or ``"provider"``; empty while the cost is unknown.
        unpriced_tokens: Tokens whose model has no known price; they are not in the cost.
        llm_calls, tool_calls: How many of them ended inside the operation.
        tools: How often each tool was called, by name.
        source: Where the counts come from: ``"provider"``, the bytes of this call; ``"framework"``, an object of a
            library, or the application, which may have them from anywhere; or ``"estimate"``, counted from the text.
            Of a sum, the least certain of its parts.
        uncounted: Fields reported with invalid values, such as ``("input_tokens",)``; they are in no sum.
        cache_hour_tokens: The part of ``cache_write_tokens`` that is cached for an hour, which costs more.
        apart: Usage of models other than the answering one in the same call, by name; included in the counts, and
            priced separately.
        by_model: The same by model; empty for a call without tokens.
    """

    # Class-level defaults, so that each model call sets only what it reports.
    cost_nano: int | None = None
    cost_source: str = ""
    unpriced_tokens: int = 0
    llm_calls: int = 0
    tool_calls: int = 0
    source: Source = "provider"
    uncounted: tuple[str, ...] = ()
    cache_hour_tokens: int = 0
    apart: "tuple[tuple[str, Usage], ...]" = ()
    by_model: "Mapping[str, Usage]" = MappingProxyType({})
    tools: Mapping[str, int] = MappingProxyType({})

    def __init__(
        self,
        input_tokens: int = 0,
        output_tokens: int = 0,
        cache_read_tokens: int = 0,
        cache_write_tokens: int = 0,
        reasoning_tokens: int = 0,
    ) -> None:
        self.input_tokens = input_tokens
        self.output_tokens = output_tokens
        self.cache_read_tokens = cache_read_tokens
        self.cache_write_tokens = cache_write_tokens
        self.reasoning_tokens = reasoning_tokens

    def count(self, value: object, name: str) -> int:
        """A reported number of tokens; if it cannot be one, return 0 and add ``name`` to ``uncounted``.

        Compatible servers also send whole numbers as floats and strings.
        """
        if type(value) is int and 0 <= value <= MOST_TOKENS:
            return value
        if value is None:
            return 0
        number = _number(value, MOST_TOKENS)
        if number is None:
            self.skip(name)
            return 0
        return round(number)

    def charge(self, dollars: object) -> None:
        """Take the cost that a provider reported; ignore it if it cannot be a price, so that the price list decides."""
        number = _number(dollars, MOST_USD)
        if number is None:
            self.skip("cost")
        else:
            self.cost_nano, self.cost_source = round(number * NANO), "provider"

    def come_from(self, source: Source) -> None:
        """Note where the counts come from, unless they are less certain than that."""
        if _RANK[source] > _RANK[self.source]:
            self.source = source

    def is_as_good_as(self, other: "Usage") -> bool:
        """Whether its source is at least as certain as that of ``other``."""
        return _RANK[self.source] <= _RANK[other.source]

    def skip(self, name: str) -> None:
        """Note that something was reported that is in no sum."""
        if name not in self.uncounted:
            self.uncounted = (*self.uncounted, name)

    @property
    def incomplete(self) -> bool:
        """Whether tokens were reported that are in no sum."""
        return any(name != "cost" for name in self.uncounted)

    @property
    def estimated(self) -> bool:
        """Whether any count is an estimate, because nothing was reported."""
        return self.source == "estimate"

    @property
    def total_tokens(self) -> int:
        """Input and output tokens together."""
        return self.input_tokens + self.output_tokens

    @property
    def cost_usd(self) -> float | None:
        """Cost in US dollars, or ``None`` while no model in it has a known price."""
        return None if self.cost_nano is None else self.cost_nano / NANO

    def buckets(self) -> Iterator[tuple[str, int]]:
        """Disjoint buckets whose sum is the total: input, cache_read, cache_write, output, reasoning."""
        yield "input", self.input_tokens - self.cache_read_tokens - self.cache_write_tokens
        if self.cache_read_tokens:
            yield "cache_read", self.cache_read_tokens
        if self.cache_write_tokens:
            yield "cache_write", self.cache_write_tokens
        yield "output", self.output_tokens - self.reasoning_tokens
        if self.reasoning_tokens:
            yield "reasoning", self.reasoning_tokens

    def add(self, other: "Usage") -> None:
        """Add ``other`` to this one; ``by_model`` is left to the caller."""
        self.input_tokens += other.input_tokens
        self.output_tokens += other.output_tokens
        self.cache_read_tokens += other.cache_read_tokens
        self.cache_write_tokens += other.cache_write_tokens
        self.reasoning_tokens += other.reasoning_tokens
        if other.cache_hour_tokens:
            self.cache_hour_tokens += other.cache_hour_tokens
        if other.unpriced_tokens:
            self.unpriced_tokens += other.unpriced_tokens
        if other.source != self.source:
            self.come_from(other.source)
        if other.uncounted:
            for name in other.uncounted:
                self.skip(name)
        if other.cost_nano is not None:
            self.cost_nano = (self.cost_nano or 0) + other.cost_nano
            self.cost_source = self.cost_source or other.cost_source

    def subtract(self, part: "Usage") -> None:
        """Take the tokens of ``part``, which are in it, out of this one."""
        self.input_tokens -= part.input_tokens
        self.output_tokens -= part.output_tokens
        self.cache_read_tokens -= part.cache_read_tokens
        self.cache_write_tokens -= part.cache_write_tokens
        self.reasoning_tokens -= part.reasoning_tokens
        self.cache_hour_tokens -= part.cache_hour_tokens

    def add_call(self, model: str, other: "Usage") -> None:
        """Add a call answered by ``model``, in sum and in ``by_model``."""
        self.add(other)
        self.llm_calls += other.llm_calls
        models = self.by_model
        if not isinstance(models, dict):
            models = self.by_model = {}
        per_model = models.get(model)
        if per_model is None:
            per_model = models[model] = Usage()
        per_model.add(other)
        per_model.llm_calls += other.llm_calls

    def add_tool(self, name: str) -> None:
        """Add a call of a tool."""
        self.tool_calls += 1
        tools = self.tools
        if not isinstance(tools, dict):
            tools = self.tools = {}
        tools[name] = tools.get(name, 0) + 1

    def copied(self) -> "Usage":
        """A copy; ``copy.copy`` takes ten times as long."""
        twin = Usage.__new__(Usage)
        twin.__dict__.update(self.__dict__)
        return twin

    def as_metadata(self) -> dict[str, object]:
        """Usage in LangChain's form, plus the cost."""
        return {
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "total_tokens": self.total_tokens,
            "input_token_details": {"cache_read": self.cache_read_tokens, "cache_creation": self.cache_write_tokens},
            "output_token_details": {"reasoning": self.reasoning_tokens},
            "cost_usd": self.cost_usd,
        }

    def __repr__(self) -> str:
        return f"Usage(input_tokens={self.input_tokens}, output_tokens={self.output_tokens}, cost_usd={self.cost_usd})"


def _number(value: Any, most: int) -> float | None:
    """A reported value as a number between 0 and ``most``; ``None`` if it is not one."""
    try:
        if isinstance(value, bool):
            return None
        number = float(value)
        return number if 0 <= number <= most else None  # excludes NaN
    except (TypeError, ValueError, OverflowError, ArithmeticError):
        return None


class Leaves:
    """Collects the usage of the calls inside an operation as they end, from any thread; an agent may run for days."""

    FOLD_AT = 256

    __slots__ = ("_sum", "new")
    _lock = threading.RLock()

    def __init__(self) -> None:
        self.new: list[tuple[str, Usage | None]] = []
        """Calls to add: a model's name with its usage, or a tool's name with ``None``. Whoever appends the
        ``FOLD_AT``-th folds them."""
        self._sum = Usage()

    def fold(self) -> None:
        """Add up the new calls."""
        with self._lock:
            self._fold()

    def total(self) -> Usage:
        """The sum, with ``by_model`` filled; a copy."""
        with self._lock:
            self._fold()
            return self._summed()

    def flat(self) -> Usage:
        """The sum without ``by_model`` and ``tools``; a copy."""
        with self._lock:
            new, total = self.new.copy(), self._sum.copied()
        total.by_model, total.tools = MappingProxyType({}), MappingProxyType({})
        for _, used in new:
            if used is None:
                total.tool_calls += 1
            else:
                total.add(used)
                total.llm_calls += used.llm_calls
        return total

    def _summed(self) -> Usage:
        result = self._sum.copied()
        result.by_model = {model: used.copied() for model, used in self._sum.by_model.items()}
        result.tools = dict(self._sum.tools)
        return result

    def _fold(self) -> None:
        count = len(self.new)
        if not count:
            return
        total = self._summed()
        for name, used in self.new[:count]:
            if used is None:
                total.add_tool(name)
            else:
                total.add_call(name, used)
        # In one statement: an interrupt in between would add something twice, or never.
        self._sum = total
        del self.new[:count]

    @classmethod
    def renew(cls) -> None:
        cls._lock = threading.RLock()


after_fork("usage", Leaves.renew)
