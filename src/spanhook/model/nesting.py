"""How calls lie in each other: the part of an adapter for what is one operation, seen from several libraries."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from spanhook.model.arguments import Args, Kwargs

Role = Literal["client", "framework", "relay"]
"""Whether a call may itself be the transport of another library's. That of a client is. A framework's view of a model
or tool is not, but a call directly inside it that carries its request is its transport; see ``absorption``. Both is a
relay: it passes on what it is asked for.
"""


@dataclass(frozen=True, kw_only=True)
class Nesting:
    """How a call recognizes its request in calls inside it.

    Attributes:
        role: Whether it is a framework's view of a model or tool, the call of a client, or both. Agents and runs have
            the default.
        carries: What identifies the request in its transport: the last text of each prompt, or arguments. A tool
            without it is taken for one that runs agents: what it calls again is an operation of its own.
        goes_on: Whether calls on this instance may continue in another of its methods; unset if they always may. What
            such a call carries is noted before the gates run, which takes time in proportion to its length.
        transport_of: Layers of the same library whose operation absorbs this call if it directly encloses it, on the
            same instance, and carries the same.
    """

    role: Role = "client"
    carries: Callable[[Any, Args, Kwargs], list[str | None]] | None = None
    goes_on: Callable[[Any], bool] | None = None
    transport_of: frozenset[str] = frozenset()
    is_framework: bool = field(init=False)
    is_client: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_framework", self.role != "client")
        object.__setattr__(self, "is_client", self.role != "framework")


ALONE = Nesting()
"""For calls that are never a part of another operation, and have none in them."""
