"""The configuration file as ``spanhook run`` would find it, and what is wrong with it."""

from collections.abc import Iterator

from spanhook.bootstrap import Wanted, load_aegra
from spanhook.cli.doctor.report import Finding, Followed
from spanhook.config import END_MARK, ConfigurationFile, following, lacks_end_mark, load_file
from spanhook.errors import ConfigurationError, ConfigurationFileError
from spanhook.gating import Hooks
from spanhook.settings import Settings


def reported(file: ConfigurationFile | None) -> Iterator[Finding]:
    """What running processes report to the control plane that the file names."""
    if file is None or file.configuration.control_plane is None:
        return
    try:
        from spanhook.control_plane import problems

        yield from (Finding("warning", where, what) for where, what in problems(file))
    except ConfigurationError as error:
        yield Finding("note", "control_plane", str(error))


def configured(wanted: Wanted) -> tuple[ConfigurationFile | None, Settings, list[Finding]]:
    """The file, the settings that would be in force, and every mistake in the file."""
    try:
        path = wanted.anchored().config
        file = load_file(path) if path else None
        return file, wanted.settings if file is None else file.settings(wanted.over), []
    except ConfigurationFileError as error:
        return None, wanted.settings, [Finding("configuration", "config", str(one)) for one in error.mistakes]
    except ConfigurationError as error:
        return None, wanted.settings, [Finding("configuration", "config", str(error))]


def of_aegra(wanted: Wanted) -> tuple[str, tuple[Hooks, ...], list[Finding]]:
    """Aegra's configuration file, the hooks that are active because it names them, and what is wrong with it."""
    try:
        anchored = wanted.anchored()
    except ConfigurationError:
        return "", (), []  # reported with the configuration file
    try:
        return anchored.aegra, load_aegra(anchored).registries, []
    except ConfigurationFileError as error:
        return anchored.aegra, (), [Finding("configuration", "aegra", str(one)) for one in error.mistakes]
    except ConfigurationError as error:
        return anchored.aegra, (), [Finding("configuration", "aegra", str(error))]


def followed(
    wanted: Wanted, file: ConfigurationFile | None, settings: Settings
) -> tuple[Followed | None, list[Finding]]:
    """The processes that follow the file, and what is to know about how they do."""
    try:
        path = wanted.anchored().config
    except ConfigurationError:
        return None, []
    if not path:
        return None, []
    document = None if file is None else file.document
    result = Followed(path, "" if document is None else document.digest, tuple(following(path)))
    findings = [
        Finding(
            "warning", "config", f"process {one.pid} does not run the file as it is now: {one.refused or 'see above'}"
        )
        for one in result.processes
        if one.digest != result.digest
    ]
    findings += [
        Finding("warning", "tools", f"process {one.pid} runs tools that hooks do not see: {', '.join(one.ungated)}")
        for one in result.processes
        if one.ungated
    ]
    if document is not None and settings.strict and lacks_end_mark(document):
        about = f"{document.shown} lacks the end mark that strict mode requires; end it with the line {END_MARK}"
        findings.append(Finding("warning", "config", about))
    return result, findings
