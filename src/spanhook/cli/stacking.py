"""``spanhook up``, ``down`` and ``status``: the stack that shows everything in Grafana."""

from pathlib import Path

import click

_FILE = click.option(
    "--file",
    type=click.Path(path_type=Path),
    help="The compose file; default: one in the working directory or above, otherwise spanhook's own.",
)
_ADDRESS = click.option(
    "--address", "addresses", multiple=True, metavar="NAME=URL", help="Address of a service, if not the default one."
)


@click.command(short_help="Start the stack that shows everything in Grafana.")
@_FILE
@click.option(
    "--profile",
    "profiles",
    multiple=True,
    metavar="NAME",
    help="Also start these services: demo, scale or state; can be repeated.",
)
@_ADDRESS
@click.option(
    "--timeout", default=180.0, show_default=True, type=click.FloatRange(0), metavar="SECONDS", help="How long to wait."
)
def up(file: Path | None, profiles: tuple[str, ...], addresses: tuple[str, ...], timeout: float) -> int:
    """Start collector, Tempo, Prometheus, Loki and Grafana, and print their addresses."""
    from spanhook.cli.stack import run_up

    return run_up(file, profiles, addresses, timeout)


@click.command()
@_FILE
@click.option("--volumes", is_flag=True, help="Also delete the stored data.")
def down(file: Path | None, volumes: bool) -> int:
    """Stop the services that `spanhook up` has started."""
    from spanhook.cli.stack import run_down

    return run_down(file, volumes=volumes)


@click.command()
@_ADDRESS
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def status(addresses: tuple[str, ...], as_json: bool) -> int:
    """Show which services of the stack answer."""
    from spanhook.cli.stack import run_status

    return run_status(addresses, as_json)
