"""Installs spanhook in a process before its application: for ``spanhook run``, and under ``opentelemetry-instrument``.

Any failure here ends the process: an application that should be gated must not run ungated.
"""

import os
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NoReturn

import wrapt

from spanhook import export
from spanhook.bootstrap import _unseen, environment
from spanhook.bootstrap._eventlet import refuse
from spanhook.bootstrap.environment import Wanted
from spanhook.config import (
    ConfigurationFile,
    OwnHooks,
    bind_functions,
    bound_functions,
    check_inherited,
    check_installed,
    check_marked,
    follow,
    instrument,
    is_function,
    load_file,
    load_hooks,
    load_own,
    read_file,
    require_functions,
)
from spanhook.errors import ConfigurationError, Reject, RequirementError, SpanhookError
from spanhook.gating import Hook, Hooks, is_path
from spanhook.model import Operation

SITE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "site")
"""The first folder on ``PYTHONPATH`` for everything that ``spanhook run`` starts."""

_LAUNCHER = "opentelemetry.instrumentation.auto_instrumentation"

_state = {"installed": False}


def start() -> None:
    """Install spanhook as the environment says, or end the process; called by ``site/sitecustomize.py``.

    The process ends with 3 if a required library is not bound, with 2 for everything else that goes wrong.
    """
    _or_stop()
    if os.environ.get(environment.STARTED):
        # Only now: the environment's own start-up code must not find our provider in place of its own.
        _or_stop(provide=True)
        _unseen.watch(os.environ[environment.STARTED])


def auto_instrument() -> None:
    """Install spanhook under ``opentelemetry-instrument``: its ``opentelemetry_pre_instrument`` entry point.

    The loader that calls it logs exceptions and runs the application anyway, so this ends the process.
    """
    _or_stop()


def _or_stop(*, provide: bool = False) -> None:
    try:
        if provide:
            refuse(stop)
            export.setup()
        elif not _state["installed"]:
            install()
            _state["installed"] = True
    except BaseException as error:
        stop(error)


def stop(error: BaseException) -> NoReturn:
    """End the process at once, with one line that gives the reason."""
    told = str(error) if isinstance(error, SpanhookError) else f"{type(error).__name__}: {error}"
    os.write(2, f"spanhook: {' '.join(told.split())}\n".encode(errors="replace"))
    os._exit(3 if isinstance(error, RequirementError) else 2)


def install() -> None:
    """Activate what the environment asks for.

    The hooks may import the application's modules; their calls before the hooks are active are refused.

    Raises:
        ConfigurationError: A variable or one of the hooks cannot be used.
        RequirementError: A required library is not installed, not supported, or not bound completely.
    """
    wanted = environment.read(os.environ).anchored()
    functions = bound_functions(read_file(wanted.config) if wanted.config else None)
    libraries = [name for name in wanted.require if not is_function(name, functions)]
    check_installed(libraries)
    refusing = Hooks()
    refusing.before("*", name="spanhook.loading", priority=0)(_refuse)
    with _application_path():
        if wanted.hooks or wanted.config or wanted.aegra:
            early = read_file(wanted.config).settings(wanted.over) if wanted.config else wanted.settings
            instrument(refusing, settings=replace(early, definitions_dir=None))  # definitions are loaded below
        file = load_file(wanted.config) if wanted.config else None
        named, own = _loaded(wanted.hooks, file)
        aegra = load_aegra(wanted)
        policies = Hooks() if file is None else file.registry()
        settings = wanted.settings if file is None else file.settings(wanted.over)
        if file is not None:
            check_inherited(file.document)
            if settings.strict:
                check_marked(file.document)
        every = [*named, *own.registries, *aegra.registries, policies]
        instrument(every, require=libraries, settings=settings)
        aegra.apply()
        if file is not None:
            bind_functions(file)
            require_functions([name for name in wanted.require if name not in libraries])
            own.apply()
            follower = follow(file, None if wanted.hooks else own, policies, wanted.over, aegra.registries)
            if file.configuration.control_plane is not None:
                from spanhook.control_plane import join

                join(file, follower)
    for hook in refusing:
        refusing.remove(hook)
    if wanted.console:
        from spanhook.export import console

        console.install()
    os.environ.update(wanted.variables())
    put_first(os.environ)
    wrapt.register_post_import_hook(_stay_first, _LAUNCHER)


def put_first(environ: Any) -> None:
    """Make Python processes that get ``environ`` run our ``sitecustomize`` before any other."""
    rest = [entry for entry in environ.get("PYTHONPATH", "").split(os.pathsep) if entry != SITE]
    environ["PYTHONPATH"] = os.pathsep.join([SITE, *rest]) if any(rest) else SITE


def _refuse(op: Operation) -> None:
    raise Reject(f"{op.kind} {op.name!r} was called while hooks were being loaded; move the call out of import time")


def _loaded(specs: Sequence[str], file: ConfigurationFile | None) -> tuple[list[Hooks | Hook], OwnHooks]:
    """The hooks that options or variables name, or otherwise those of the configuration file."""
    for spec in specs or (() if file is None else file.hooks):
        _check_script(spec)
    if specs or file is None:
        return [load_hooks(spec) for spec in specs], OwnHooks()
    return [], load_own(file)


def load_aegra(wanted: Wanted) -> OwnHooks:
    """The hooks that Aegra's configuration names, unless it is the configuration file whose hooks are loaded.

    Options and variables replace the hooks of spanhook's own file, not these.

    Raises:
        ConfigurationError: They cannot be loaded.
    """
    if not wanted.aegra or (wanted.aegra == wanted.config and not wanted.hooks):
        return OwnHooks()
    file = read_file(wanted.aegra)
    for spec in file.hooks:
        _check_script(spec)
    return load_own(file)


def _check_script(spec: str) -> None:
    target = spec.rpartition(":")[0]
    script = sys.argv[0] if sys.argv else ""
    if is_path(target) and script.endswith(".py") and os.path.realpath(target) == os.path.realpath(script):
        raise ConfigurationError(
            f"hooks {spec!r} are in the application's own script, which would run before they are active; "
            "move them to a separate file"
        )


@contextmanager
def _application_path() -> Generator[None]:
    """``sys.path`` as the application will have it.

    The interpreter adds the first entry only after the start-up code. The working directory comes last, for servers
    that add it to the path themselves, and so does the parent process's path, for children that receive it later.
    """
    first = _first_entry()
    last = [] if sys.flags.safe_path else [os.getcwd()]
    last += os.environ.get(environment.PATH, "").split(os.pathsep)
    added = [] if first is None else [first]
    sys.path[:0] = added
    for entry in filter(None, last):
        if entry not in sys.path:
            sys.path.append(entry)
            added.append(entry)
    os.environ[environment.PATH] = os.pathsep.join(added)
    try:
        yield
    finally:
        for entry in added:
            if entry in sys.path:
                sys.path.remove(entry)


def _first_entry() -> str | None:
    """The entry that the interpreter will put first on ``sys.path``: see ``sys.path`` in the Python documentation."""
    if sys.flags.safe_path:
        return None
    script = sys.argv[0] if sys.argv else ""
    if script in ("", "-", "-c", "-m"):
        return os.getcwd()
    if os.path.isdir(script) or script.endswith((".zip", ".pyz", ".whl")):
        return os.path.abspath(script)
    return os.path.dirname(os.path.realpath(script))


def _stay_first(launcher: Any) -> None:
    """Make ``opentelemetry-instrument`` keep our start-up code before its own, which runs no other after it."""
    execl = launcher.execl

    def ours_first(file: str, *args: str) -> None:
        put_first(os.environ)
        execl(file, *args)

    launcher.execl = ours_first
