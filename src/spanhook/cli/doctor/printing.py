"""The report for people: short, aligned, in colour only on a terminal."""

from collections.abc import Iterable, Iterator, Sequence

import click

from spanhook.cli.doctor.report import HookFound, Library, NotBound, Report, SignalFound
from spanhook.config import FollowingProcess
from spanhook.gating import WATCH

_COLOURS = {"configuration": "red", "requirement": "red", "warning": "yellow", "note": "blue"}


def print_report(report: Report) -> None:
    """Print ``report`` on standard output."""
    click.echo(f"spanhook {report.spanhook}, Python {report.python} ({report.executable})")
    _section("Libraries", map(_library, sorted(report.libraries, key=lambda library: not library.version)))
    _section("Not bound (these bypass spanhook)", map(_not_bound, report.unbound))
    _section(f"Hooks ({report.mode})", map(_hook, report.hooks), "none; name them with --hooks ./hooks.py:hooks")
    if report.aegra:
        _section("Aegra's configuration (its hooks are active)", [(report.aegra,)])
    if report.configuration is not None and report.configuration.processes:
        configuration = report.configuration
        about = f"Processes that follow {configuration.path} (now {configuration.digest or 'not usable'})"
        _section(about, (_process(one, configuration.digest) for one in configuration.processes))
    telemetry = report.telemetry
    off = ", disabled" if telemetry.disabled else ""
    about = f"Telemetry (SDK {telemetry.sdk}{off}, sampler {telemetry.sampler}, content {telemetry.content})"
    _section(about, map(_signal, telemetry.signals))
    others = [(one.name, one.version, ", ".join(one.libraries), one.when) for one in report.others]
    _section("Others that record the same calls (each call is then two spans)", others)
    own = [(one.name, one.version, ", ".join(one.scopes) or "-", one.when) for one in report.self_tracing]
    _section("SDKs that trace themselves (their spans appear beside ours)", own)
    findings = [
        (click.style(finding.level, fg=_COLOURS[finding.level]), finding.about, finding.text)
        for finding in report.findings
    ]
    _section("To know", findings)
    click.echo()
    click.secho(report.verdict, fg="red" if report.exit_code else "green", bold=True)


def _library(library: Library) -> tuple[str, ...]:
    if not library.version:
        return library.name, "-", "not installed", ""
    points = f"{library.bound} of {library.bound + len(library.missing)} points bound"
    points = "bound when it is started" if library.waits else points
    return library.name, library.version, "supported" if library.supported else "not supported", points


def _not_bound(one: NotBound) -> tuple[str, ...]:
    return one.name, one.version or "-", f"{one.state}, allowed" if one.allowed else one.state, one.bypass


def _hook(hook: HookFound) -> tuple[str, ...]:
    limit = "no limit" if hook.timeout_s is None else f"{hook.timeout_s:g} s"
    tenant = f", tenant {hook.tenant_id}" if hook.tenant_id else ""
    held = ", holds streams back" if hook.holds_back else ", sees streams as they go out" if hook.windows else ""
    about = f"priority {hook.priority}, fails {hook.fail_mode}, {limit}{held}{tenant}"
    return hook.name, ", ".join(hook.events), f"subscription{tenant}" if hook.form == WATCH else about


def _process(process: FollowingProcess, digest: str) -> tuple[str, ...]:
    state = "as the file is now" if process.digest == digest else "not as the file is now"
    return str(process.pid), process.digest, state


def _signal(signal: SignalFound) -> tuple[str, ...]:
    provider = signal.provider or ("made by spanhook run" if signal.exporters else "no provider")
    return signal.signal, provider, ", ".join(signal.exporters) or "not exported"


def _section(title: str, rows: Iterable[Sequence[str]], empty: str = "") -> None:
    lines = list(_aligned(list(rows))) or ([f"  {empty}"] if empty else [])
    if lines:
        click.echo()
        click.secho(title, bold=True)
        for line in lines:
            click.echo(line)


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(len(click.unstyle(cell)) for cell in column) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell + " " * (width - len(click.unstyle(cell))) for cell, width in zip(row, widths, strict=True))
        yield "  " + "  ".join(cells).rstrip()
