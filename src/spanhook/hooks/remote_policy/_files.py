"""Files that settings name."""

from pathlib import Path

from spanhook.errors import ConfigurationError


def contents(path: str) -> str:
    """The text of a file.

    Raises:
        ConfigurationError: It cannot be read.
    """
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path}: cannot be read: {type(error).__name__}") from None
