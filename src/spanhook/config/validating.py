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
    mistakes: list[Mistake] = []
    try:
        configuration = readable = Configuration.model_validate(document.data)
    except ValidationError as error:
        mistakes += complaints(document, error, Configuration)
        configuration, readable = None, _valid_part(document, error)
    if readable is not None:
        mistakes += [*_missing(document, readable), *_unusable(document, readable)]
    if configuration is None or mistakes:
        raise ConfigurationFileError(sorted(mistakes, key=lambda mistake: mistake.line))
    return configuration


def _valid_part(document: Document, error: ValidationError) -> Configuration | None:
    """What else can be checked: the file without the top-level keys that have mistakes."""
    wrong = {one["loc"][0] for one in error.errors() if one["loc"]}
    try:
        return Configuration.model_validate({key: value for key, value in document.data.items() if key not in wrong})
    except ValidationError:
        return None


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
