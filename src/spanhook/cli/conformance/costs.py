"""What the checks of each library cost: from this, the command says beforehand how long they may take."""

from dataclasses import dataclass

IMPORT = 1.5
"""Seconds that a process takes to start and to import its library."""


@dataclass(frozen=True)
class Cost:
    """The checks of one library, as they were recorded.

    Attributes:
        ways: The number of ways of calling.
        quick_ways: The number of those that ``--quick`` tries.
        seconds: The processor time of a process that makes all checks.
        quick_seconds: The same for those of ``--quick``. The first calls of a library take longest.
    """

    ways: int
    quick_ways: int
    seconds: float
    quick_seconds: float

    def quick(self) -> "Cost":
        """The cost of ``--quick``."""
        return Cost(self.quick_ways, self.quick_ways, self.quick_seconds, self.quick_seconds)


USUAL = Cost(40, 8, 16, 5)
"""For libraries that have not been recorded."""

COSTS: dict[str, Cost] = {
    "anthropic": Cost(51, 8, 23, 4),
    "botocore": Cost(24, 6, 12, 3),
    "cohere": Cost(55, 9, 17, 3),
    "fastapi": Cost(5, 4, 2, 2),
    "google_genai": Cost(28, 8, 15, 5),
    "groq": Cost(31, 7, 12, 2),
    "langchain": Cost(22, 2, 19, 4),
    "langchain_core": Cost(104, 7, 31, 4),
    "langchain_openai": Cost(63, 3, 55, 5),
    "langgraph": Cost(48, 5, 13, 3),
    "mcp": Cost(49, 10, 20, 4),
    "mistralai": Cost(57, 11, 36, 6),
    "openai": Cost(90, 10, 34, 4),
    "openai_agents": Cost(45, 9, 44, 8),
    "own_code": Cost(24, 4, 4, 2),
    "pydantic_ai": Cost(49, 9, 52, 9),
    "starlette": Cost(9, 5, 2, 1),
    "claude_agent_sdk": Cost(13, 8, 300, 185),
}
"""As ``spanhook conformance --json`` reports them, and so with ``--quick``, with ``[all]``, on two cores that were busy
with other work too; others count as ``USUAL``."""


def cost_of(library: str, *, quick: bool) -> Cost:
    """The cost of a library's checks, all of them or those of ``--quick``."""
    cost = COSTS.get(library, USUAL)
    return cost.quick() if quick else cost
