"""Counters by the application's own attributes, such as a customer's plan.

spanhook's metrics have agents, tools, models and, if enabled, tenants; attributes given to ``spanhook.context`` are
only on spans. This hook counts by the configured attributes, each with a limited number of values.
"""

from typing import Annotated, Any

from opentelemetry.metrics import MeterProvider
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from spanhook import semconv
from spanhook.gating import Hook, Measures, handler, validated
from spanhook.model import Operation, encodable, exact_text

_LONGEST = 100


@handler
class Metrics(Hook):
    """Counts operations, and the tokens and cost of runs, by attributes given to ``spanhook.context``.

    Operations are counted by kind and status. Tokens and cost are those of a whole run, counted once, when it has
    ended, under the attributes of its outermost operation; usage without a known price is not in the cost.

    Args:
        attributes: Names of attributes given to ``spanhook.context``; one that is missing is left out.
        most_values: The most values of each attribute; further ones are counted as ``_other``.
        meter_provider: Where the counters are created; by default the one that spanhook reports to.

    Raises:
        ConfigurationError: A setting cannot be used.
    """

    kinds = tuple(kind for kind in semconv.KINDS if kind != "workflow.step")
    name = "metrics"

    class Config(BaseModel):
        """Settings of ``metrics``."""

        model_config = ConfigDict(extra="forbid")

        attributes: list[Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_.]*$", max_length=100)]] = (
            Field(min_length=1, max_length=5, description="Names of attributes given to spanhook.context.")
        )
        most_values: int = Field(
            default=50,
            ge=1,
            le=1000,
            description="The most values of each attribute; further ones are counted as _other.",
        )

    def __init__(
        self, attributes: list[str], most_values: int = 50, *, meter_provider: MeterProvider | None = None
    ) -> None:
        config = validated(self.Config, {"attributes": attributes, "most_values": most_values}, "metrics")
        self._values = {name: _Values(config.most_values) for name in config.attributes}
        measures = Measures("metrics", meter_provider)
        self._operations = measures.counter(
            semconv.METRIC_ATTRIBUTED_OPERATIONS, "{operation}", "Operations that have ended"
        )
        self._tokens = measures.counter(semconv.METRIC_ATTRIBUTED_TOKENS, "{token}", "Tokens that runs have used")
        self._cost = measures.counter(semconv.METRIC_ATTRIBUTED_COST, "USD", "Cost of runs, as far as it is known")

    def after(self, op: Operation) -> None:
        """Count an operation that has succeeded."""
        self._count(op)

    def on_error(self, op: Operation) -> None:
        """Count an operation that has not."""
        self._count(op)

    def _count(self, op: Operation) -> None:
        given = op.identity.attributes
        told: dict[str, Any] = {
            name: values.bounded(given[name]) for name, values in self._values.items() if name in given
        }
        self._operations(1, {semconv.KIND: op.kind, semconv.STATUS: op.status, **told})
        if op.parent is not None:
            return
        used = op.usage
        if used.total_tokens:
            self._tokens(used.total_tokens, told)
        if used.cost_usd:
            self._cost(used.cost_usd, told)


class _Values:
    """The values of one attribute that are counted separately.

    Args:
        most: The most values.
    """

    def __init__(self, most: int) -> None:
        self._most, self._known = most, set[str]()

    def bounded(self, value: object) -> str:
        """The value as text, or ``_other`` if there are too many values or it is too long."""
        said = encodable(exact_text(value))
        if said in self._known:
            return said
        if len(said) > _LONGEST or len(self._known) >= self._most:
            return semconv.OTHER
        self._known.add(said)
        return said
