"""The checks of a way of calling: each is a column of the grid."""

from collections.abc import Callable
from functools import partial

from spanhook.cli.conformance.checks.cells import FAILED, NONE, NOT_GATED, OK, PATIENCE, Cell, Way, Wrong, brief
from spanhook.cli.conformance.checks.changing import answered, callbacks, held, rewritten
from spanhook.cli.conformance.checks.coercing import coerced
from spanhook.cli.conformance.checks.counting import allowed, content, once, usage
from spanhook.cli.conformance.checks.editing import edited
from spanhook.cli.conformance.checks.ending import cancelled, errors, left
from spanhook.cli.conformance.checks.naming import named
from spanhook.cli.conformance.checks.refusing import asynchronous, denied, refuse, timed
from spanhook.cli.conformance.checks.restoring import restored
from spanhook.cli.conformance.checks.surroundings import disabled, exporter, foreign, unsampled
from spanhook.cli.conformance.checks.windows import windowed
from spanhook.cli.conformance.subject import Body, Ungated, settle
from spanhook.errors import Reject
from spanhook.gating import Hooks
from spanhook.testing import recorder

__all__ = ["CHECKS", "Checks", "checks_of", "checks_of_ungated"]

CHECKS: dict[str, Callable[[Way], Cell]] = {
    "denied": denied,
    "async": asynchronous,
    "timeout": timed,
    "named": named,
    "rewritten": rewritten,
    "coerced": coerced,
    "answered": answered,
    "held": held,
    "window": windowed,
    "callbacks": callbacks,
    "allowed": allowed,
    "once": once,
    "usage": usage,
    "errors": errors,
    "cancelled": cancelled,
    "left": left,
    "edited": edited,
    "content": content,
    "unsampled": unsampled,
    "disabled": disabled,
    "exporter": exporter,
    "foreign": foreign,
    "restored": restored,
}
"""The checks, by column name."""


Checks = dict[str, Callable[[], Cell]]
"""The functions that fill in a row, by column."""


def checks_of(way: Way) -> Checks:
    """Every check of one way of calling; none raises."""
    if way.lacking:
        return dict.fromkeys(CHECKS, _none)
    return {column: partial(_one, check, way) for column, check in CHECKS.items()}


def _one(check: Callable[[Way], Cell], way: Way) -> Cell:
    try:
        return check(way)
    except Wrong as wrong:
        return Cell(FAILED, str(wrong))
    except Exception as error:
        return Cell(FAILED, f"{type(error).__name__}: {brief(str(error))}")


def checks_of_ungated(one: Ungated) -> Checks:
    """Whether what is documented as not gated is in fact not gated; it never fails."""
    return {**dict.fromkeys(CHECKS, _none), "denied": partial(_ungated, one)}


def _ungated(one: Ungated) -> Cell:
    if one.use is None:
        return Cell(NOT_GATED)
    hooks, body = Hooks(), Body()
    hooks.before("*", timeout=PATIENCE, name="refuse")(refuse)
    thing = one.make(body)
    with recorder(hooks):
        try:
            settle(one.use(thing))
        except Reject:
            return Cell(NOT_GATED if body.runs else OK)
        except Exception:  # unknown to the loopback server, but it was called
            return Cell(NOT_GATED)
    return Cell(NOT_GATED)


def _none() -> Cell:
    return NONE
