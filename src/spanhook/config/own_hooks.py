"""Loading the hooks in Python that a configuration file names."""

from spanhook.config.file import ConfigurationFile
from spanhook.config.instrumenting import given_hooks
from spanhook.errors import ConfigurationError, ConfigurationFileError
from spanhook.gating import Hook, Hooks, load_hooks


def load_own(file: ConfigurationFile) -> tuple[Hooks, ...]:
    """The registries that a file names under ``hooks``.

    Raises:
        ConfigurationFileError: They cannot be loaded, or take no timeout and are given one.
    """
    entry = file.configuration.hooks
    if entry is None:
        return ()
    document = file.document
    try:
        loaded = load_hooks(document.spec(entry.path))
    except ConfigurationError as error:
        raise ConfigurationFileError(
            [document.mistake(("hooks", "path"), str(error).removeprefix("hooks "))]
        ) from error
    if entry.timeout is not None:
        message = f"{entry.timeout}: only run hooks (RunHooks) take it; set timeout= on each hook, and take it out here"
        raise ConfigurationFileError([document.mistake(("hooks", "timeout"), message)])
    return tuple(Hooks(one) if isinstance(one, Hook) else one for one in given_hooks(loaded))
