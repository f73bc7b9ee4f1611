"""Libraries that an application requires."""

from collections.abc import Iterable

from spanhook.errors import RequirementError
from spanhook.instrument import BOUND, instrumentor_of, names


def check_installed(required: Iterable[str]) -> None:
    """Find out whether libraries are installed at a supported version; nothing is imported for it.

    Raises:
        ConfigurationError: There is no instrumentor for one of them.
        RequirementError: One is not installed, or not supported.
    """
    for name in names(required):
        library = instrumentor_of(name)
        if not library.version:
            raise RequirementError(f"required library {name!r} is not installed; pip install {library.requirement!r}")
        if not library.supported:
            raise RequirementError(
                f"required library {name!r} is at version {library.version}; supported is {library.requirement}"
            )


def require_bound(required: Iterable[str]) -> None:
    """Import libraries, and find out whether they are bound completely.

    Raises:
        ConfigurationError: There is no instrumentor for one of them.
        RequirementError: One is not installed, not supported, or not bound at all its points.
    """
    check_installed(required)
    for name in names(required):
        library = instrumentor_of(name)
        library.load()
        unbound = [point for point, state in library.required_states() if state != BOUND]
        if unbound:
            raise RequirementError(f"required library {name!r} is not bound at {', '.join(unbound)}")
