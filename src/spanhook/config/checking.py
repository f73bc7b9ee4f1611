"""What a configuration file asks for, checked as a whole: all its mistakes at once, or none and what was made of it."""

from collections.abc import Iterator, Sequence
from typing import Any, cast

from pydantic import ValidationError

from spanhook.config.building import Builder, Built
from spanhook.config.models import Configuration, Policy
from spanhook.config.reading import Document, Keys
from spanhook.config.validating import configuration_of
from spanhook.errors import ConfigurationFileError, Mistake


def built(document: Document, before: Sequence[Built] = ()) -> tuple[Configuration, tuple[Built, ...]]:
    """What a file says, and a hook for each of its policies.

    Args:
        document: The file.
        before: What was made of its policies the last time; those that are as they were keep their hooks.

    Raises:
        ConfigurationFileError: Something in it cannot be used. It has all mistakes.
    """
    mistakes = list[Mistake]()
    configuration = None
    try:
        configuration = configuration_of(document)
    except ConfigurationFileError as error:
        mistakes += error.mistakes
    builder = Builder(document, before)
    made = [one for policy, keys in _policies(document) if (one := builder.build(policy, keys)) is not None]
    mistakes += builder.mistakes
    if configuration is None or mistakes:
        raise ConfigurationFileError(sorted(mistakes, key=lambda mistake: mistake.line))
    return configuration, tuple(made)


def _policies(document: Document) -> Iterator[tuple[Policy, Keys]]:
    """The policies as far as they can be read, whatever else is wrong."""
    given: Any = document.data.get("policies")
    for index, one in enumerate(cast("list[Any]", given) if isinstance(given, list) else ()):
        policy = _readable(one)
        if policy is not None:
            yield policy, ("policies", index)


def _readable(given: Any) -> Policy | None:
    """A policy without those of its keys that are wrong; ``None`` if it is none without them."""
    try:
        return Policy.model_validate(given)
    except ValidationError as error:
        wrong = {one["loc"][0] for one in error.errors() if one["loc"]}
        if not isinstance(given, dict) or not wrong & cast("dict[Any, Any]", given).keys():
            return None
        return _readable({key: value for key, value in cast("dict[Any, Any]", given).items() if key not in wrong})
