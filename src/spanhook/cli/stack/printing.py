"""What the commands print: progress on standard error, results on standard output."""

import sys
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

import click

from spanhook.cli.stack.services import DASHBOARDS, OTLP_GRPC, OTLP_HTTP, Answer


class Progress:
    """Shows which services are ready: one changing line on a terminal, otherwise one line each.

    Args:
        count: The number of services.
    """

    def __init__(self, count: int) -> None:
        self._count, self._started = count, time.monotonic()
        self._ready: set[str] = set()
        self._silent: dict[str, str] = {}
        self._terminal = sys.stderr.isatty()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._terminal:
            click.echo(err=True)

    def __call__(self, answer: Answer) -> None:
        name = answer.service.name
        if answer.ready:
            self._ready.add(name)
            self._silent.pop(name, None)
        else:
            self._silent[name] = answer.text
        seconds = time.monotonic() - self._started
        if self._terminal:
            rest = f", waiting for {', '.join(sorted(self._silent))}" if self._silent else ""
            line = f"{len(self._ready)} of {self._count} ready after {seconds:.0f} s{rest}"
            click.echo(f"\r\x1b[K{line}", err=True, nl=False)
        elif answer.ready:
            click.echo(f"{name} is ready after {seconds:.0f} s", err=True)


def print_answers(answers: Sequence[Answer]) -> None:
    """Print a line for each service: its address and its answer."""
    names = max(len(one.service.name) for one in answers)
    urls = max(len(one.service.url) for one in answers)
    for one in answers:
        text = click.style(one.text, fg="green" if one.ready else "red")
        click.echo(f"{one.service.name:{names}}  {one.service.url:{urls}}  {text}")


def print_addresses(answers: Sequence[Answer]) -> None:
    """Print all addresses, and the settings for applications."""
    print_answers(answers)
    grafana = next(one.service.url for one in answers if one.service.name == "grafana")
    click.echo("\nDashboards, for the user admin with GRAFANA_ADMIN_PASSWORD")
    for title, uid in DASHBOARDS.items():
        click.echo(f"  {title:16}  {grafana}/d/{uid}")
    click.echo(f"\nApplications send to {OTLP_HTTP} (HTTP) or {OTLP_GRPC} (gRPC):")
    click.echo(f"  export OTEL_EXPORTER_OTLP_ENDPOINT={OTLP_HTTP}")
    click.echo("  export OTEL_PYTHON_SDK_INTERNAL_METRICS_ENABLED=true  # for the dashboard Pipeline")
    silent = [one.service.name for one in answers if not one.ready]
    if silent:
        click.secho(f"\nNot ready: {', '.join(silent)}. See their logs for the reason", fg="red")


def print_failure(command: Sequence[str], code: int) -> None:
    """Print that the engine failed; its own output appears above."""
    click.echo(f"spanhook: {' '.join(command)} failed with exit code {code}", err=True)
