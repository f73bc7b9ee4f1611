"""Whether a configuration file can be used, as far as that is known without making a hook or importing one."""

from collections.abc import Iterator

from pydantic import ValidationError

from spanhook.config.complaints import complaints
from spanhook.config.models import Configuration
from spanhook.config.reading import Document
from spanhook.errors import ConfigurationError, ConfigurationFileError, Mistake
from spanhook.gating import check_file
from spanhook.settings import Settings


def configuration_of(document: Document) -> Configuration:
    """What a file says, as its models have it.

    Raises:
        ConfigurationFileError: Something in it cannot be used.
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
    """Files that are named and not there."""
    if configuration.hooks is None:
        return
    try:
        check_file(document.spec(configuration.hooks.path))
    except ConfigurationError as error:
        yield document.mistake(("hooks", "path"), str(error).removeprefix("hooks "))


def _unusable(document: Document, configuration: Configuration) -> Iterator[Mistake]:
    """Settings that are of the right type and cannot be used all the same."""
    try:
        Settings(**configuration.settings.model_dump(exclude_none=True))
    except ConfigurationError as error:
        yield document.mistake(("settings",), str(error))
