"""Checks a configuration file without creating or importing any hook."""

from collections.abc import Iterator

from pydantic import ValidationError

from spanhook.config.complaints import complaints
from spanhook.config.models import Configuration
from spanhook.config.reading import Document, Keys
from spanhook.errors import ConfigurationError, ConfigurationFileError, Mistake
from spanhook.gating import check_file
from spanhook.settings import Settings


def configuration_of(document: Document) -> Configuration:
    """The configuration in a file.

    Raises:
        ConfigurationFileError: The file has mistakes.
    """
    try:
        configuration = Configuration.model_validate(document.data)
        mistakes = [*_missing(document, configuration), *_unusable(document, configuration)]
    except ValidationError as error:
        configuration, mistakes = None, list(complaints(document, error, Configuration))
    if configuration is None or mistakes:
        raise ConfigurationFileError(sorted(mistakes, key=lambda mistake: mistake.line))
    return configuration


def _missing(document: Document, configuration: Configuration) -> Iterator[Mistake]:
    """Files that are named but missing."""
    named: list[tuple[Keys, str]] = [(("cron", n, "agent"), one.agent) for n, one in enumerate(configuration.cron)]
    if configuration.hooks is not None:
        named.append((("hooks", "path"), configuration.hooks.path))
    for keys, spec in named:
        try:
            check_file(document.spec(spec))
        except ConfigurationError as error:
            yield document.mistake(keys, str(error).removeprefix("hooks "))


def _unusable(document: Document, configuration: Configuration) -> Iterator[Mistake]:
    """Settings of the right type that still cannot be used."""
    try:
        Settings(**configuration.settings.model_dump(exclude_none=True))
    except ConfigurationError as error:
        yield document.mistake(("settings",), str(error))
