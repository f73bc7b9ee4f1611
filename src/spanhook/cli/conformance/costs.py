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
    "anthropic": Cost(51, 7, 15, 3),
    "botocore": Cost(24, 5, 8, 1.5),
    "claude_agent_sdk": Cost(13, 7, 300, 50),
    "cohere": Cost(55, 7, 10, 1.5),
    "crewai": Cost(34, 9, 23, 9),
    "fastapi": Cost(5, 3, 1, 1),
    "google_adk": Cost(27, 8, 12, 4),
    "google_genai": Cost(28, 6, 10, 2),
    "groq": Cost(31, 6, 6, 1),
    "langchain": Cost(22, 2, 11, 2),
    "langchain_anthropic": Cost(28, 1, 14, 3),
    "langchain_core": Cost(104, 5, 19, 2),
    "langchain_openai": Cost(63, 2, 30, 2.5),
    "langgraph": Cost(48, 5, 8, 1.5),
    "litellm": Cost(52, 12, 33, 12),
    "mcp": Cost(49, 7, 14, 2),
    "mistralai": Cost(57, 9, 26, 4),
    "openai": Cost(92, 9, 23, 2.5),
    "openai_agents": Cost(45, 7, 32, 4.5),
    "own_code": Cost(24, 3, 2.5, 1),
    "pydantic_ai": Cost(49, 7, 33, 5),
    "starlette": Cost(9, 4, 1, 0.5),
    "strands": Cost(32, 8, 9, 3),
}
"""Measured with the newest versions, on two cores that were busy with other work too; ``spanhook conformance --json``
reports them, and so with ``--quick``. Others count as ``USUAL``."""


def cost_of(library: str, *, quick: bool) -> Cost:
    """The cost of a library's checks, all of them or those of ``--quick``."""
    cost = COSTS.get(library, USUAL)
    return cost.quick() if quick else cost
