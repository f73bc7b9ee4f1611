"""A configuration file with its hooks, or all its mistakes at once."""

from collections.abc import Iterator, Sequence
from typing import Any, cast

from pydantic import ValidationError

from spanhook.config.building import Builder, Built
from spanhook.config.models import Configuration, Policy
from spanhook.config.reading import Document, Keys
from spanhook.config.validating import configuration_of
from spanhook.errors import ConfigurationFileError, Mistake


def built(
    document: Document, before: Sequence[Built] = (), *, in_memory: bool = False
) -> tuple[Configuration, tuple[Built, ...]]:
    """The configuration in a file, and a hook for each of its policies.

    Args:
        document: The file.
        before: The policies that are active; those that did not change keep their hooks.
        in_memory: Give hooks a store of their own in memory, whatever store the file names.

    Raises:
        ConfigurationFileError: The file has mistakes; the error has all of them.
    """
    mistakes = list[Mistake]()
    configuration = None
    try:
        configuration = configuration_of(document)
    except ConfigurationFileError as error:
        mistakes += error.mistakes
    builder = Builder(document, before, in_memory=in_memory)
    made = [one for policy, keys in _policies(document) if (one := builder.build(policy, keys)) is not None]
    mistakes += builder.mistakes
    if configuration is None or mistakes:
        raise ConfigurationFileError(sorted(mistakes, key=lambda mistake: mistake.line))
    return configuration, tuple(made)


def _policies(document: Document) -> Iterator[tuple[Policy, Keys]]:
    """The policies that can be read, whatever other mistakes there are."""
    given: Any = document.data.get("policies")
    for index, one in enumerate(cast("list[Any]", given) if isinstance(given, list) else ()):
        policy = _readable(one, index)
        if policy is not None:
            yield policy, ("policies", index)


def _readable(given: Any, index: int) -> Policy | None:
    """A policy without its invalid keys; ``None`` if the others are not enough."""
    try:
        return Policy.model_validate(given)
    except ValidationError as error:
        if not isinstance(given, dict):
            return None
        wrong = {one["loc"][0] for one in error.errors() if one["loc"]}
        kept = {key: value for key, value in cast("dict[Any, Any]", given).items() if key not in wrong}
        kept.setdefault("id", f"policies.{index}")  # so that its other keys can be checked
        return None if kept == given else _readable(kept, index)
