"""What an ended model call counts as, for hooks that limit what calls use.

A count is complete if a provider or a framework has reported it, and the call has ended by itself. Everything else is
at least what was reserved for the call: a cut-off count is a lower bound, and an estimate does not know of images,
hidden reasoning or the provider's own tokens.
"""

from typing import NamedTuple

from spanhook.model import Operation, Usage

_CUT_SHORT = ("abandoned", "cancelled", "error")


class Charge(NamedTuple):
    """What a call counts as.

    Attributes:
        tokens: Input and output tokens together.
        nano: Nano-dollars.
        complete: Whether that is what was reported. If not, it is at least what was reserved.
    """

    tokens: int
    nano: int
    complete: bool = True


NOTHING = Charge(0, 0)


def get_charge(op: Operation, reserved_tokens: int, reserved_nano: int = 0) -> Charge:
    """What a model call counts as, now that it has ended.

    Args:
        op: The call.
        reserved_tokens: The tokens that were reserved for it.
        reserved_nano: The nano-dollars that were reserved for it.
    """
    used = op.own_usage
    if not op.called or (op.status == "error" and _is_unanswered(used)):
        return NOTHING
    if used is None:
        return Charge(reserved_tokens, reserved_nano, complete=False)
    nano = reserved_nano if used.cost_nano is None else used.cost_nano
    if _is_complete(op, used):
        return Charge(used.total_tokens, nano)
    return Charge(max(used.total_tokens, reserved_tokens), max(nano, reserved_nano), complete=False)


def _is_unanswered(used: Usage | None) -> bool:
    """Whether nothing is known to have been used by a call that failed."""
    return used is None or (used.estimated and not used.output_tokens)


def _is_complete(op: Operation, used: Usage) -> bool:
    if used.estimated or used.uncounted or op.status in _CUT_SHORT:
        return False
    if used.input_tokens and used.output_tokens:
        return True
    if not used.total_tokens and used.cost_source == "provider":  # from a cache, or counted in calls inside of it
        return not used.cost_nano and (used.source == "framework" or not _is_answered(op))
    return bool(used.input_tokens) and (op.kind != "llm.call" or not _is_answered(op))


def _is_answered(op: Operation) -> bool:
    """Whether a model has said anything, although it is reported to have used no output tokens."""
    return any(message.get("parts") for message in op.response.messages)
