"""``spanhook approvals``: requests for approval, shown and answered."""

from collections.abc import Callable
from typing import Any

import click

_STORE = click.option("--store", default="", metavar="ADDRESS", help="The store, such as sqlite:///spanhook.db.")
_IN_FILE = click.option("--config", default="", metavar="FILE", help="The configuration file that names the store.")
_AS = click.option("--as", "by", default="", metavar="USER", help="Who answers; the user of this command unless given.")
_REASON = click.option("--reason", default="", metavar="TEXT", help="Why, for whoever asked.")
_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


@click.group(invoke_without_command=True)
@click.pass_context
def approvals(ctx: click.Context) -> None:
    """Show and answer requests for approval."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@approvals.command(name="list")
@_STORE
@_IN_FILE
@click.option("--all", "everything", is_flag=True, help="Also those that are not open any more.")
@_JSON
def approvals_list(store: str, config: str, everything: bool, as_json: bool) -> int:
    """List the requests that are open."""
    from spanhook.cli.approvals import opened, show_all

    return show_all(opened(store, config), None if everything else "pending", as_json)


@approvals.command(name="show")
@click.argument("id")
@_STORE
@_IN_FILE
@_JSON
def approvals_show(id: str, store: str, config: str, as_json: bool) -> int:
    """Show the request ID with its arguments."""
    from spanhook.cli.approvals import opened, show_one

    return _answering(lambda: show_one(opened(store, config), id, as_json))


def _answers(command: Callable[..., int]) -> Callable[..., int]:
    """Add the parameters of the commands that answer requests."""
    for add in (_JSON, _REASON, _AS, _IN_FILE, _STORE, click.argument("ids", nargs=-1, required=True)):
        command = add(command)
    return command


@approvals.command(name="approve")
@_answers
def approvals_approve(**given: Any) -> int:
    """Approve the requests IDS. The exit code is 1 if one cannot be answered."""
    return _answer(approve=True, **given)


@approvals.command(name="deny")
@_answers
def approvals_deny(**given: Any) -> int:
    """Deny the requests IDS. The exit code is 1 if one cannot be answered."""
    return _answer(approve=False, **given)


def _answer(ids: tuple[str, ...], store: str, config: str, **given: Any) -> int:
    from spanhook.cli.approvals import answer, opened

    return _answering(lambda: answer(opened(store, config), ids, **given))


def _answering(command: Callable[[], int]) -> int:
    """Run a command that exits with 1 if a request cannot be answered or the store is away."""
    from spanhook.errors import StoreError
    from spanhook.store import ApprovalError

    try:
        return command()
    except (ApprovalError, StoreError) as error:
        raise click.ClickException(str(error)) from None
