"""Tells operators of calls that cost all that was reserved for them, because nobody reported what they used."""

from spanhook.diagnostics import log
from spanhook.gating import Charge
from spanhook.model import Operation


class UncountedCalls:
    """Warns of the first such call of a budget. The others cost as much, and the metric ``spanhook.budget.tokens`` and
    the spans' ``spanhook.usage.estimated`` show them.
    """

    def __init__(self) -> None:
        self._has_warned = False

    def note(self, name: str, op: Operation, settled: Charge) -> None:
        """Warn, if it is the first call that succeeded without a count.

        Args:
            name: The budget's name.
            op: The call.
            settled: What it counts as.
        """
        used = op.own_usage
        if self._has_warned or op.status != "success" or (used is not None and settled.tokens == used.total_tokens):
            return
        self._has_warned = True
        log.warning(
            "spanhook: budget %r: a call of %s %s reported no usage that can be counted, so it counts as what was"
            " reserved for it: %s tokens. %s. This is logged once; other such calls count in the same way",
            name,
            op.provider or "an unknown provider",
            op.model,
            f"{settled.tokens:,}",
            _remedy(is_streamed=bool(op.parameters.get("stream"))),
        )


def _remedy(*, is_streamed: bool) -> str:
    lower = "set max_tokens on requests, or the budget's output_tokens, so that less is reserved"
    if not is_streamed:
        return f"Have the server report usage, or {lower}"
    return (
        'Have the stream report it: leave stream_usage unset or true, or send stream_options={"include_usage": true};'
        f" or {lower}"
    )
