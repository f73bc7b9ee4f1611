"""The hooks in Python that a configuration file names."""

from dataclasses import dataclass

from spanhook.config.file import ConfigurationFile
from spanhook.errors import ConfigurationError, ConfigurationFileError
from spanhook.gating import Hook, Hooks, load_hooks
from spanhook.runs import RunHooks
from spanhook.runs import load_hooks as load_run_hooks


@dataclass(frozen=True, slots=True)
class OwnHooks:
    """What a file names under ``hooks``.

    Attributes:
        registries: The hooks to activate.
        limited: The run hooks that the file sets a timeout for.
        timeout: This timeout, in seconds.
        earlier: The timeout that they had before.
    """

    registries: tuple[Hooks, ...] = ()
    limited: RunHooks | None = None
    timeout: float | None = None
    earlier: float | None = None

    def apply(self) -> None:
        """Set the timeout."""
        if self.limited is not None:
            self.limited.timeout = self.timeout

    def revert(self) -> None:
        """Set the earlier timeout."""
        if self.limited is not None:
            self.limited.timeout = self.earlier


def load_own(file: ConfigurationFile, before: OwnHooks | None = None) -> OwnHooks:
    """Load the hooks that a file names under ``hooks``; this changes none of them.

    Args:
        file: The file.
        before: The hooks of an earlier state of the file, whose timeout is still set.

    Raises:
        ConfigurationFileError: They cannot be loaded, or are given a timeout but are not ``RunHooks``.
    """
    entry = file.configuration.hooks
    if entry is None:
        return OwnHooks()
    spec = file.document.spec(entry.path)
    try:
        loaded = load_hooks(spec)
    except ConfigurationError as error:
        mistake = file.document.mistake(("hooks", "path"), str(error).removeprefix("hooks "))
        raise ConfigurationFileError([mistake]) from error
    registries = (Hooks(loaded) if isinstance(loaded, Hook) else loaded,)
    if entry.timeout is None:
        return OwnHooks(registries)
    try:
        limited = load_run_hooks(spec)
    except TypeError:
        message = f"{entry.timeout}: only run hooks (RunHooks) take it; set timeout= on each hook, and remove it here"
        raise ConfigurationFileError([file.document.mistake(("hooks", "timeout"), message)]) from None
    earlier = before.earlier if before is not None and before.limited is limited else limited.timeout
    return OwnHooks(registries, limited, entry.timeout, earlier)
