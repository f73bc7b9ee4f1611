"""What hooks do to recorded text before it leaves the process: content, messages of exceptions, reasons of decisions.

It applies to every operation, whether or not a hook could rewrite it, and costs nothing while no hook asks for it.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from spanhook.diagnostics import internal
from spanhook.model import Record, disclosed, json_text

WITHHELD = "(withheld)"
"""What is recorded in place of text that could not be concealed."""
_FEWEST_DIGITS = 9


@dataclass(frozen=True, slots=True)
class Concealer:
    """One hook's part in what is recorded.

    Attributes:
        conceal: Returns what to record in place of a text.
        tenant_id: The tenant to whose operations it applies; empty for all.
    """

    conceal: Callable[[str], str]
    tenant_id: str = ""


class _Active:
    concealers: tuple[Concealer, ...] = ()


_active = _Active()


def use_concealers(concealers: tuple[Concealer, ...]) -> None:
    """Apply these from now on, in order."""
    _active.concealers = concealers


def concealed(op: Record, text: str) -> str:
    """What is recorded in place of a text about ``op``. If that fails, none of the text is."""
    return concealed_for(op.identity.tenant_id, text)


def concealed_for(tenant_id: str, text: str) -> str:
    """The same for a text about an operation of a tenant."""
    for one in _active.concealers:
        if one.tenant_id and one.tenant_id != tenant_id:
            continue
        try:
            text = one.conceal(text)
        except Exception as error:
            internal.report("conceal", error, lost=1)
            return WITHHELD
    return text


def told(op: Record, text: str, in_full: bool) -> str:
    """A text as it leaves the process; see ``disclosed``."""
    text = disclosed(text, in_full)
    return concealed(op, text) if _active.concealers else text


def concealed_content(op: Record, found: dict[str, Any]) -> dict[str, Any]:
    """Content by attribute name, concealed; names stay."""
    return concealed_data(op.identity.tenant_id, found) if _active.concealers else found


def concealed_data(tenant_id: str, found: dict[str, Any]) -> dict[str, Any]:
    """Data about an operation of a tenant, concealed; the names at its top stay. If that fails, nothing of it."""
    if not _active.concealers:
        return found
    try:
        plain = json.loads(json_text(found))
        return {name: _concealed(tenant_id, value) for name, value in plain.items()}
    except (TypeError, ValueError, RecursionError) as error:
        internal.report("conceal", error, lost=1)
        return {}


def _concealed(tenant_id: str, value: Any) -> Any:
    if isinstance(value, str):
        return concealed_for(tenant_id, value)
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value).items()
        return {concealed_for(tenant_id, name): _concealed(tenant_id, one) for name, one in items}
    if isinstance(value, list):
        return [_concealed(tenant_id, one) for one in cast("list[Any]", value)]
    if isinstance(value, int | float) and abs(value) >= 10 ** (_FEWEST_DIGITS - 1):
        said = str(value)
        new = concealed_for(tenant_id, said)
        return value if new == said else new
    return value
