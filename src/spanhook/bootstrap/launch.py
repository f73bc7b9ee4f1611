"""``spanhook run``: start an application with spanhook active before its first import, or not at all.

The process becomes the application (``execve``): its exit code, signals and standard streams are its own. The start-up
code in ``bootstrap/site``, first on ``PYTHONPATH``, installs spanhook there. Before that, the same Python is started in
the same environment to check that it runs this start-up code.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from typing import NoReturn

from spanhook.bootstrap import environment
from spanhook.bootstrap.environment import Wanted
from spanhook.bootstrap.startup import put_first
from spanhook.bootstrap.target import Target
from spanhook.config import bound_functions, check_installed, is_function, read_file
from spanhook.errors import ConfigurationError
from spanhook.gating import check_file
from spanhook.instrument import named, names

_WHO_ELSE = "import sys; print(getattr(sys.modules.get('sitecustomize'), '__file__', ''))"
_PATIENCE = 60.0


def run(target: Target, wanted: Wanted) -> NoReturn:
    """Become ``target``, gated.

    Raises:
        ConfigurationError: It cannot be started gated, or a setting cannot be applied.
        RequirementError: A required library is not installed, or not supported.
    """
    wanted = wanted.anchored()
    _check(target, wanted)
    environ = environment_for(wanted, os.environ)
    if target.python:
        _ask(target.python, environ)
    if not target.direct:
        _rehearse(target.python or (sys.executable,), environ)
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # the stream was closed before we were started
            stream.flush()
    try:
        os.execve(target.file, target.argv, environ)  # noqa: S606 - the user's own command line
    except OSError as error:
        raise ConfigurationError(f"{target.file} cannot be started: {error.strerror}") from None


def environment_for(wanted: Wanted, environ: Mapping[str, str]) -> dict[str, str]:
    """The environment in which Python processes start gated."""
    found = {**environ, **wanted.variables(), environment.STARTED: str(os.getpid())}
    found.pop(environment.PROBE, None)
    put_first(found)
    return found


def _check(target: Target, wanted: Wanted) -> None:
    """Check what can be checked before anything is started."""
    is_here = target.python == (sys.executable,)
    file = read_file(wanted.config) if wanted.config and (is_here or wanted.require) else None
    functions = bound_functions(file)
    libraries = [name for name in wanted.require if not is_function(name, functions)]
    names(libraries)
    named(wanted.over.get("allow", ()))
    hooks = wanted.hooks
    if is_here:
        if file is not None:
            file.settings(wanted.over)
            hooks = hooks or file.hooks
        if wanted.aegra:
            hooks = tuple(dict.fromkeys((*hooks, *read_file(wanted.aegra).hooks)))
    for spec in hooks:
        check_file(spec)
        if target.argv[1:3] == ("-m", spec.rpartition(":")[0]):
            raise ConfigurationError(
                f"hooks {spec!r} are in the application's own module, which would run before they are active; "
                "move them to a separate module"
            )
    if is_here:
        check_installed(libraries)


def _ask(python: tuple[str, ...], environ: Mapping[str, str]) -> None:
    """Start ``python`` and let only the start-up code answer."""
    asked = {**environ, environment.PROBE: "1"}
    try:
        answer = subprocess.run(  # noqa: S603 - the Python of the user's own command line
            [*python, "-c", _WHO_ELSE],
            env=asked,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ConfigurationError(f"{python[0]} cannot be started: {error}") from None
    said = answer.stdout.decode(errors="replace").strip()
    if said.endswith("spanhook found"):
        return
    if said.endswith("spanhook missing"):
        raise ConfigurationError(f"{python[0]} has no spanhook; install it there: {python[0]} -m pip install spanhook")
    instead = f"; it runs {said} instead" if said else ""
    failed = answer.stderr.decode(errors="replace").strip().splitlines()[-1:]
    raise ConfigurationError(
        f"{' '.join(python)} does not run spanhook's start-up code{instead}, so nothing would be gated"
        + "".join(f" ({line})" for line in failed)
    )


def _rehearse(python: tuple[str, ...], environ: Mapping[str, str]) -> None:
    """Run the start-up code to its end, because the command does other things before its first Python starts."""
    rehearsed = subprocess.run(  # noqa: S603 - as above
        [*python, "-c", ""], env=dict(environ), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False
    )
    if rehearsed.returncode:
        sys.exit(rehearsed.returncode)  # it has printed the reason
