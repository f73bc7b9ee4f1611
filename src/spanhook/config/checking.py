"""What a configuration file asks for, checked as a whole: all its mistakes at once, or none and what was made of it."""

from collections.abc import Iterator, Sequence
from typing import Any, cast

from pydantic import ValidationError

from spanhook.config.building import Builder, Built
from spanhook.config.complaints import complaints
from spanhook.config.models import Configuration, Policy
from spanhook.config.reading import Document, Keys
from spanhook.errors import ConfigurationError, ConfigurationFileError, Mistake
from spanhook.gating import check_file


def configuration_of(document: Document) -> Configuration:
    """What a file says, as its models have it; no hook is made.

    Raises:
        ConfigurationFileError: Something in it cannot be used.
    """
    try:
        return Configuration.model_validate(document.data)
    except ValidationError as error:
        raise ConfigurationFileError(_sorted(complaints(document, error, Configuration))) from None


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
        configuration = Configuration.model_validate(document.data)
    except ValidationError as error:
        mistakes += complaints(document, error, Configuration)
    builder = Builder(document, before)
    made = [one for policy, keys in _policies(document) if (one := builder.build(policy, keys)) is not None]
    mistakes += [*builder.mistakes, *_missing(document, configuration)]
    if configuration is None or mistakes:
        raise ConfigurationFileError(_sorted(mistakes))
    return configuration, tuple(made)


def _policies(document: Document) -> Iterator[tuple[Policy, Keys]]:
    """Those policies that can be read, whatever else is wrong."""
    given: Any = document.data.get("policies")
    for index, one in enumerate(cast("list[Any]", given) if isinstance(given, list) else ()):
        try:
            yield Policy.model_validate(one), ("policies", index)
        except ValidationError:
            continue


def _missing(document: Document, configuration: Configuration | None) -> Iterator[Mistake]:
    """Files that are named and not there."""
    if configuration is None or configuration.hooks is None:
        return
    try:
        check_file(document.spec(configuration.hooks.path))
    except ConfigurationError as error:
        yield document.mistake(("hooks", "path"), str(error).removeprefix("hooks "))


def _sorted(mistakes: Iterator[Mistake] | list[Mistake]) -> list[Mistake]:
    return sorted(mistakes, key=lambda mistake: mistake.line)
