"""How asking goes, as metrics."""

from collections.abc import Iterator

from spanhook import semconv
from spanhook.gating import Measures
from spanhook.hooks.circuit_breaker import Circuit
from spanhook.model import exception_name


class Figures:
    """Measures how one service is asked.

    Args:
        circuit: Whether it is asked.
    """

    def __init__(self, circuit: Circuit) -> None:
        self._circuit = circuit
        self._said: dict[str, str] = {}
        measures = Measures("remote_policy")
        self.duration = measures.histogram(
            semconv.METRIC_REMOTE_POLICY_DURATION,
            "s",
            "Time until a policy service has decided, or failed to",
            semconv.DURATION_BUCKETS,
        )
        self.errors = measures.counter(
            semconv.METRIC_REMOTE_POLICY_ERRORS, "{error}", "Questions to policy services that failed"
        )
        self.open = measures.watched(
            semconv.METRIC_REMOTE_POLICY_OPEN,
            "{circuit}",
            "Policy services that are not asked for now, since they keep failing",
            self._is_open,
        )

    def begin(self, hook: str) -> None:
        """A question is asked for a hook, by its name."""
        self._said = {semconv.HOOK: hook}
        self.open()

    def failed(self, error: Exception) -> None:
        """An attempt has failed."""
        self.errors(1, {**self._said, semconv.ERROR_TYPE: exception_name(error)})

    def decided(self, outcome: str, seconds: float) -> None:
        """A question was answered, or not."""
        self.duration(seconds, {**self._said, semconv.REMOTE_POLICY_OUTCOME: outcome})

    def _is_open(self) -> Iterator[tuple[float, dict[str, str]]]:
        yield int(self._circuit.is_open), self._said
