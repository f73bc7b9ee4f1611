"""``opentelemetry-instrument``, alone and under ``spanhook run``."""

import sys
from pathlib import Path

import pytest

from tests.commands import APP, REJECTED, Folder

GATED = ("run", "--hooks", "./hooks.py:hooks")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


INSTRUMENT = str(Path(sys.executable).parent / "opentelemetry-instrument")
SILENT = {"OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none", "OTEL_LOGS_EXPORTER": "none"}
FAILING = {**SILENT, "OTEL_PYTHON_ID_GENERATOR": "no_such_generator"}
COUNTED = "\nopen('LOADED', 'a').write('x')\n"


@pytest.mark.slow
def test_opentelemetry_instrument_alone(folder: Folder) -> None:
    folder.agent()

    ran = folder.run(INSTRUMENT, sys.executable, "app.py", SPANHOOK_HOOKS="./hooks.py:hooks", **SILENT)

    assert (ran.returncode, ran.stdout.strip(), ran.stderr) == (0, REJECTED, "")
    assert not folder.body_ran


@pytest.mark.slow
@pytest.mark.parametrize("disabled", ["*", "spanhook,langchain"])
def test_disabled_instrumentations_do_not_disable_hooks(folder: Folder, disabled: str) -> None:
    variables = {**SILENT, "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": disabled, "SPANHOOK_HOOKS": "hooks.py:hooks"}

    ran = folder.agent().run(INSTRUMENT, sys.executable, "app.py", **variables)

    assert ran.stdout.strip() == REJECTED, ran.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variables", "code", "message"),
    [
        ({"SPANHOOK_HOOKS": "nope.py:hooks"}, 2, "nope.py does not exist"),
        ({"SPANHOOK_REQUIRE": "nope"}, 2, "unknown library 'nope'"),
        ({"SPANHOOK_HOOKS": "raising.py:hooks"}, 2, "failed to load: SystemExit: 0"),
    ],
)
def test_opentelemetry_instrument_does_not_start_ungated(
    folder: Folder, variables: dict[str, str], code: int, message: str
) -> None:
    folder.write(app="open('BODY_RAN', 'a')", raising="import sys\nsys.exit(0)")

    ran = folder.run(INSTRUMENT, sys.executable, "app.py", **SILENT, **variables)

    assert ran.returncode == code
    assert message in ran.stderr
    assert ran.stderr.count("\n") == 1
    assert not folder.body_ran


@pytest.mark.slow
def test_children_under_opentelemetry_instrument(folder: Folder) -> None:
    folder.agent().write(parent="import subprocess, sys\nsys.exit(subprocess.call([sys.executable, 'app.py']))")

    ran = folder.run(INSTRUMENT, sys.executable, "parent.py", SPANHOOK_HOOKS="hooks.py:hooks", **SILENT)

    assert ran.stdout.strip() == REJECTED, ran.stderr


@pytest.mark.slow
def test_both_loaders_install_once(folder: Folder) -> None:
    folder.agent().file("hooks.py", (folder.path / "hooks.py").read_text() + COUNTED)
    folder.file("app.py", APP + "from opentelemetry import trace\nprint(type(trace.get_tracer_provider()).__module__)")

    ran = folder.spanhook(*GATED, "--", INSTRUMENT, sys.executable, "app.py", **SILENT)

    assert ran.stdout.splitlines() == [REJECTED, "opentelemetry.sdk.trace"], ran.stderr
    assert (folder.path / "LOADED").read_text() == "xx"  # the launcher's own process, and the application's


@pytest.mark.slow
def test_a_configurator_that_fails_ungates_the_one_but_not_both(folder: Folder) -> None:
    folder.agent()

    alone = folder.run(INSTRUMENT, sys.executable, "app.py", SPANHOOK_HOOKS="hooks.py:hooks", **FAILING)
    assert alone.stdout == "paid\n"  # what the loader does to us, and why `spanhook run` is the guarantee
    (folder.path / "BODY_RAN").unlink()

    both = folder.spanhook(*GATED, "--", INSTRUMENT, sys.executable, "app.py", **FAILING)
    assert both.stdout.strip() == REJECTED, both.stderr
    assert not folder.body_ran
