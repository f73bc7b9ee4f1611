"""Pydantic's errors as mistakes in a file: with the line, the key, the value, and what was expected."""

import json
import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import AliasChoices, BaseModel, ValidationError
from pydantic.fields import FieldInfo

from spanhook.config.models import Configuration
from spanhook.config.reading import Document, Keys
from spanhook.errors import Mistake
from spanhook.gating import EXPECTED, quotes

_LONGEST_VALUE = 80

_SHOULD = re.compile(r"^(?:Input|String|List|Value|Dictionary|Number) should (be|have|match) ")
_WORDS = {"be": "expected ", "have": "expected ", "match": "expected to match "}


def complaints(
    document: Document, error: ValidationError, model: type[BaseModel], within: Keys = ()
) -> Iterator[Mistake]:
    """The mistakes in a part of a file.

    Args:
        document: The file.
        error: Pydantic's error.
        model: The model that the part was validated with.
        within: The keys of the part.
    """
    hidden = bool(model.model_config.get("hide_input_in_errors", False))
    for one in error.errors(include_url=False, include_context=False, include_input=not hidden):
        keys = (*within, *one["loc"])
        yield document.mistake(keys, _message(dict(one), model))


def _message(one: Mapping[str, Any], model: type[BaseModel]) -> str:
    loc: Keys = one["loc"]
    kind, said = one["type"], str(one["msg"])
    if kind == "extra_forbidden":
        if loc[:-1] == ("settings",) and loc[-1] in Configuration.model_fields:
            return "unknown key; it is not a setting: write it at the top level of the file"
        return f"unknown key{_instead(str(loc[-1]), _model_at(model, loc[:-1]))}"
    if kind == "missing":
        return f"missing; add {loc[-1]}: ..."
    said = said.removeprefix("Value error, ").removeprefix("Assertion failed, ")
    of_keys = kind == "value_error" and _model_at(model, loc) is not None  # said of several keys, which it names
    value = f"{_short(one['input'])}: " if "input" in one and not of_keys and not quotes(said, one["input"]) else ""
    if kind in EXPECTED:
        return f"{value}expected {EXPECTED[kind]}{_as_keys(one, model)}"
    said = _SHOULD.sub(lambda found: _WORDS[found[1]], said)
    if kind.startswith(("greater_than", "less_than")):
        said = said.replace("expected", "expected a number", 1)
    return f"{value}{said}"


def _as_keys(one: Mapping[str, Any], model: type[BaseModel]) -> str:
    """What to write where keys are expected: the text that was given, if one key is enough; otherwise an example."""
    inner, given = _model_at(model, one["loc"]), one.get("input")
    if one["type"] != "model_type" or inner is None or not one["loc"]:
        return ""
    fields = {next(_written(name, field)): field for name, field in inner.model_fields.items()}
    needed = [name for name, field in fields.items() if field.is_required()]
    place = f"{one['loc'][-1]}: " if isinstance(one["loc"][-1], str) else ""  # or it is an item of a list
    if isinstance(given, str) and len(needed) == 1:
        return f"; write {place}{{{needed[0]}: {given}}}"
    shown = next((name for name, field in fields.items() if field.examples), next(iter(needed or fields)))
    example = next((json.dumps(item) for item in fields[shown].examples or ()), "...")
    return f", such as {place}{{{shown}: {example}}}"


def _instead(key: str, model: type[BaseModel] | None) -> str:
    if model is None:
        return "; remove it"
    known = [written for name, field in model.model_fields.items() for written in _written(name, field)]
    close = get_close_matches(key, known, 1, 0.6)
    if close:
        return f"; did you mean {close[0]!r}?"
    plain = [next(_written(name, field)) for name, field in model.model_fields.items()]
    return f"; remove it, or use one of {', '.join(plain)}"


def _written(name: str, field: FieldInfo) -> Iterator[str]:
    """The names of a field in a file, the canonical one first."""
    choices = field.validation_alias
    if isinstance(choices, AliasChoices):
        yield from (str(choice) for choice in choices.choices)
    else:
        yield field.alias or name


def _model_at(model: Any, loc: Keys) -> type[BaseModel] | None:
    """The model of a nested value; ``None`` unless there is exactly one."""
    for key in loc:
        if isinstance(key, int):
            continue
        if model is None:
            return None
        fields = {written: field for name, field in model.model_fields.items() for written in _written(name, field)}
        model = _only_model(fields[key].annotation) if key in fields else None
    return model


def _only_model(annotation: Any) -> type[BaseModel] | None:
    found = list(_models(annotation))
    return found[0] if len(found) == 1 else None


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models(inner)


def _short(value: object) -> str:
    """A value for messages, shortened."""
    said = " ".join(repr(value).split())
    return said if len(said) <= _LONGEST_VALUE else f"{said[: _LONGEST_VALUE - 3]}..."
