"""Which values of a ready-made hook's settings let more pass than others. It knows no hook.

A ``Config`` says so where it declares a field, as in ``Annotated[int, Looser("higher")]``. Of other fields, a higher
number and a missing item let more pass; the fields of models inside are compared one by one.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

Direction = Literal["higher", "lower", "more", "fewer", "present", "neither"]


@dataclass(
    frozen=True, slots=True, eq=False
)  # or typing takes two `Annotated` for one that differ in a Literal's order
class Looser:
    """When a setting lets more pass than before.

    Attributes:
        by: ``"higher"`` or ``"lower"`` numbers, of which none at all lets most pass; ``"more"`` or ``"fewer"`` items;
            ``"present"``: a value where there was none; ``"neither"``; the possible values, from strict to loose; or a
            function that takes the value before and the one now, and gives what was taken away.
        empty: With ``"more"`` and ``"fewer"``: whether no items stand for all.
    """

    by: Direction | tuple[Any, ...] | Callable[[Any, Any], Iterable[str]]
    empty: bool = False


NEUTRAL = Looser("neither")
STORE_ROLE = "spanhook_store"
"""The key of a field's ``json_schema_extra`` that has the name of the store to use unless one is set."""


def loosened_settings(before: Any, now: Any) -> Iterator[str]:
    """What settings let pass that they did not before; nothing of their text, which may be secret.

    Args:
        before: The settings, a pydantic model.
        now: Other settings of the same model.
    """
    fields = _fields(before)
    for name, field in fields.items():
        was, becomes = getattr(before, name), getattr(now, name)
        if was == becomes:
            continue
        if _counts_in(field):
            yield f"{name} is another one, which has not counted what the one before has"
            continue
        looser = next((one for one in field.metadata if isinstance(one, Looser)), _usual(was, becomes))
        if _fields(was) and type(was) is type(becomes):
            yield from (f"{name}.{change}" for change in loosened_settings(was, becomes))
        elif looser.by == "present":
            if was is None:
                yield f"{name}, which was not there, is there"
        elif callable(looser.by):
            yield from looser.by(was, becomes)
        elif isinstance(looser.by, tuple):
            yield from _ordered(name, looser.by, was, becomes)
        elif looser.by in ("higher", "lower"):
            yield from _numbers(name, was, becomes, lower=looser.by == "lower")
        elif looser.by in ("more", "fewer"):
            yield from _items(name, was, becomes, looser)


def _fields(model: Any) -> dict[str, Any]:
    """The fields of a pydantic model by name; none of anything else."""
    return cast("dict[str, Any]", getattr(cast("Any", type(model)), "model_fields", {}))


def _counts_in(field: Any) -> bool:
    """Whether a field names the store in which a hook counts."""
    extra: Any = field.json_schema_extra
    return isinstance(extra, dict) and cast("dict[str, Any]", extra).get(STORE_ROLE) == "counters"


def _usual(was: Any, now: Any) -> Looser:
    if _is_number(was) and (now is None or _is_number(now)):
        return Looser("higher")
    is_several = isinstance(was, list | tuple | set | frozenset | Mapping)
    return Looser("fewer") if is_several and isinstance(now, list | tuple | set | frozenset | Mapping) else NEUTRAL


def _ordered(name: str, values: tuple[Any, ...], was: Any, now: Any) -> Iterator[str]:
    if was in values and now in values and values.index(now) > values.index(was):
        yield f"{name} is {_written(now)} instead of {_written(was)}"


def _numbers(name: str, was: Any, now: Any, *, lower: bool) -> Iterator[str]:
    if was is None:
        return
    if now is None:
        yield f"{name}, which was {was}, is gone"
    elif now < was if lower else now > was:
        yield f"{name} is {now} instead of {was}"


def _items(name: str, was: Any, now: Any, looser: Looser) -> Iterator[str]:
    if looser.by == "more":
        if looser.empty and not now:
            yield f"{name} is empty, which means all"
        elif not looser.empty or was:
            added = len(_missing(now, was))
            if added:
                yield f"{name} has {added} more"
        return
    if looser.empty and not was:
        yield f"{name} is no longer empty, where empty meant all"
    elif was and not (looser.empty and not now):
        gone = len(_missing(was, now))
        if gone:
            yield f"{gone} of {len(was)} items of {name} {'is' if gone == 1 else 'are'} gone or changed"


def _missing(items: Any, others: Any) -> list[Any]:
    """Those of the items that are not among the others."""
    known = list(_listed(others))
    return [one for one in _listed(items) if one not in known]


def _listed(items: Any) -> Iterable[Any]:
    if items is None:
        return ()
    return cast("Mapping[Any, Any]", items).items() if isinstance(items, Mapping) else cast("Iterable[Any]", items)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
