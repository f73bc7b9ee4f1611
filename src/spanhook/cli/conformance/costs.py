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
        seconds: The processor time of all checks.
    """

    ways: int
    quick_ways: int
    seconds: float

    def quick(self) -> "Cost":
        """The cost of ``--quick``."""
        return Cost(self.quick_ways, self.quick_ways, self.seconds * self.quick_ways / self.ways)


USUAL = Cost(40, 8, 16.0)
"""For libraries that have not been recorded."""

COSTS: dict[str, Cost] = {
    "anthropic": Cost(51, 8, 28),
    "botocore": Cost(24, 6, 11),
    "cohere": Cost(55, 9, 22),
    "fastapi": Cost(5, 4, 1),
    "google_genai": Cost(28, 8, 21),
    "groq": Cost(31, 7, 12),
    "langchain": Cost(22, 2, 21),
    "langchain_core": Cost(104, 7, 42),
    "langchain_openai": Cost(63, 3, 63),
    "langgraph": Cost(48, 5, 15),
    "mcp": Cost(49, 10, 25),
    "mistralai": Cost(57, 11, 51),
    "openai": Cost(90, 10, 46),
    "openai_agents": Cost(45, 9, 52),
    "own_code": Cost(24, 4, 4),
    "pydantic_ai": Cost(49, 9, 58),
    "starlette": Cost(9, 5, 1),
    "claude_agent_sdk": Cost(13, 8, 300),
}
"""As ``spanhook conformance --json`` reports them, with ``[all]``, on two busy cores; others count as ``USUAL``."""


def cost_of(library: str, *, quick: bool) -> Cost:
    """The cost of a library's checks, all of them or those of ``--quick``."""
    cost = COSTS.get(library, USUAL)
    return cost.quick() if quick else cost
