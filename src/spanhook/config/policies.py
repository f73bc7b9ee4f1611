"""Policies that a control plane keeps: checked where they are kept, and built in the processes that follow it.

They are part of a configuration file: ``policies``, ``mode`` and some ``settings``; never ``hooks`` and ``stores``.
Optional packages are imported only when there are some.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from spanhook.config.file import ConfigurationFile
from spanhook.config.reading import LARGEST, Document, check_extra
from spanhook.errors import ConfigurationFileError, Mistake

if TYPE_CHECKING:
    from spanhook.config.building import Built
    from spanhook.config.models import Configuration

NAME = "policy"
KEYS = frozenset(("version", "mode", "settings", "policies"))
SETTINGS = frozenset(
    (
        "chain_timeout_ms",
        "default_timeout_ms",
        "execution_log_enabled",
        "execution_log_retention_hours",
        "execution_log_size",
        "fail_open_default",
        "hooks_enabled",
        "tenant_metrics",
    )
)
"""Settings that a control plane may make: how hooks run and are counted, not what is recorded or imported."""


@dataclass(frozen=True, slots=True)
class Shared:
    """Policies as a control plane keeps them.

    Attributes:
        policies: The policies, as plain data.
        settings: The settings, ``mode`` among them.
    """

    policies: tuple[Mapping[str, Any], ...]
    settings: Mapping[str, Any]


def checked_policies(text: str) -> Shared:
    """Read policies and check them as ``spanhook config check`` does: their hooks are created, with stores in memory.

    Args:
        text: YAML with the keys ``version``, ``mode``, ``settings`` and ``policies``.

    Raises:
        ConfigurationError: A package is not installed.
        ConfigurationFileError: The text has mistakes; the error has all of them.
    """
    document = _document(text)
    from spanhook.config import checking

    return _shared(checking.built(document, in_memory=True)[0])


def read_policies(text: str) -> Shared:
    """Read policies that were checked before. No hook is created.

    Args:
        text: As ``checked_policies`` takes it.

    Raises:
        ConfigurationError: A package is not installed.
        ConfigurationFileError: The text has mistakes.
    """
    document = _document(text)
    from spanhook.config import validating

    return _shared(validating.configuration_of(document))


def _document(text: str) -> Document:
    check_extra()
    from spanhook.config import yaml_nodes

    content = text.encode(errors="replace")
    if len(content) > LARGEST:
        raise ConfigurationFileError([Mistake(NAME, 1, "", f"has more than {LARGEST} bytes; make it smaller")])
    given, lines = yaml_nodes.parse(NAME, text)
    data: Any = {} if given is None else given
    if not isinstance(data, dict):
        raise ConfigurationFileError([Mistake(NAME, 1, "", "expected keys such as version: 1 and policies")])
    document = Document(NAME, cast("dict[str, Any]", data), lines, content)
    mistakes = _foreign(document, document.data)
    if mistakes:
        raise ConfigurationFileError(mistakes)
    return document


def _shared(configuration: "Configuration") -> Shared:
    settings = configuration.settings.model_dump(exclude_none=True)
    if configuration.mode is not None:
        settings["mode"] = configuration.mode
    policies = (one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in configuration.policies)
    return Shared(tuple(policies), settings)


def _foreign(document: Document, data: Mapping[str, Any]) -> list[Mistake]:
    """Keys that only a process's own file may have."""
    found = [
        document.mistake(
            (key,), f"cannot be shared; only {', '.join(sorted(KEYS))} can: write it in the process's file"
        )
        for key in data
        if key not in KEYS
    ]
    settings = data.get("settings")
    for key in cast("dict[str, Any]", settings) if isinstance(settings, dict) else ():
        if str(key).removeprefix("hooks_") not in SETTINGS and key not in SETTINGS:
            message = f"cannot be shared; only {', '.join(sorted(SETTINGS))} can: write it in the process's file"
            found.append(document.mistake(("settings", key), message))
    return found


def built_policies(
    file: ConfigurationFile, policies: Sequence[Any], before: "Sequence[Built]" = ()
) -> "tuple[tuple[Built, ...], dict[str, str]]":
    """Create the hooks of shared policies.

    Args:
        file: The configuration file of the process, whose stores they use.
        policies: The policies, as plain data.
        before: The policies that are active; those that did not change keep their hooks.

    Returns:
        The policies with their hooks, and why the others cannot be used, by their ids.
    """
    from pydantic import ValidationError

    from spanhook.config.building import Builder
    from spanhook.config.models import Policy

    data: dict[str, Any] = {"policies": list(policies)}
    if "stores" in file.document.data:
        data["stores"] = file.document.data["stores"]
    builder = Builder(Document(file.path, data, {}, b""), before)
    found, unusable = list["Built"](), dict[str, str]()
    for index, given in enumerate(policies):
        told = len(builder.mistakes)
        try:
            policy = Policy.model_validate(given)
        except ValidationError as error:
            unusable[f"policies[{index}]"] = f"{error.error_count()} keys of it are not known here"
            continue
        built = builder.build(policy, ("policies", index))
        if built is not None:
            found.append(built)
        else:
            said = [f"{one.key}: {one.message}" for one in builder.mistakes[told:]]
            unusable[policy.id] = "; ".join(said) or "it cannot be used here"
    return tuple(found), unusable
