"""``spanhook serve``: the control plane, its API keys and its audit record."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Collection
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from spanhook.server import ApiKey
    from spanhook.store.control import Database

T = TypeVar("T")

_DATABASE = click.option(
    "--database", metavar="URL", help="sqlite:///FILE or postgresql://...; default: sqlite:///spanhook.db."
)
_FILE = click.option("--config", "file", metavar="FILE", help="Settings of the server, in YAML, JSON or TOML.")
_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")

_EXPORT_S = 1.5
"""How long telemetry may be exported when the server has ended. It may have exported to itself."""


@click.group(invoke_without_command=True, short_help="Serve the control plane: hooks, runs, decisions and cost.")
@click.option("--host", metavar="HOST", help="Where to listen; default: 127.0.0.1.")
@click.option("--port", type=click.IntRange(0, 65535), help="Default: 8321; 0 for any free port.")
@_DATABASE
@_FILE
@click.option("--api-keys/--no-api-keys", default=None, help="Whether every request needs an API key or a token.")
@click.option(
    "--allow-host", "allowed_hosts", multiple=True, metavar="NAME", help="A name by which the server is called."
)
@click.option("--agent", "agents", multiple=True, metavar="NAME=TARGET", help="Serve an agent: support=./app.py:graph.")
@click.option("--queue", metavar="URL", help="Leave jobs to `spanhook worker`: redis://... or postgresql://...")
@click.pass_context
def serve(ctx: click.Context, file: str | None, **given: Any) -> None:
    """Serve the control plane until SIGTERM, and agents if any are given.

    Without authentication it serves this machine alone, and whoever calls may do everything.
    """
    ctx.obj = (file, given["database"])
    if ctx.invoked_subcommand is not None:
        return
    from spanhook.errors import ConfigurationError, StoreError
    from spanhook.export import end_within
    from spanhook.server import read_settings
    from spanhook.server import serve as run

    agents = named_agents(given.pop("agents"))
    settings = read_settings(file, **{**given, "allowed_hosts": given["allowed_hosts"] or None, "agents": agents})
    if settings.agents:
        from spanhook.config import instrument

        instrument()

    def announce(address: str, database: str) -> None:
        click.echo(f"spanhook serves {address} from {database}{with_agents(settings.agents)}")
        if not settings.authenticates:
            click.echo("Without authentication: whoever can call it on this machine may do everything.", err=True)

    try:
        run(settings, announce)
    except StoreError as error:
        raise ConfigurationError(f"{error}; see --database") from error
    end_within(_EXPORT_S)


def with_agents(names: Collection[str]) -> str:
    """The agents that are served, as the end of a line; empty for none."""
    return f", with the agents {', '.join(sorted(names))}" if names else ""


def named_agents(given: tuple[str, ...]) -> dict[str, dict[str, str]] | None:
    """The agents of options; ``None`` for none, so that those of the file hold."""
    found: dict[str, dict[str, str]] = {}
    for one in given:
        name, equals, target = one.partition("=")
        if not equals or not name or not target:
            raise click.UsageError(f"--agent {one}: expected NAME=TARGET, such as support=./app.py:graph")
        found[name] = {"target": target}
    return found or None


@serve.group(invoke_without_command=True)
@click.pass_context
def keys(ctx: click.Context) -> None:
    """Create, list and revoke API keys."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@keys.command(name="create")
@click.argument("name")
@click.option("--tenant", default="", metavar="ID", help="The tenant of its bearer.")
@click.option("--operator", is_flag=True, help="For an operator, who sees all tenants.")
@click.option("--scope", "scopes", multiple=True, required=True, metavar="A,B", help="What its bearer may do.")
@click.option("--days", type=click.IntRange(1, 36500), help="After how many days it expires; default: never.")
@_DATABASE
@_FILE
@_JSON
@click.pass_context
def create_key(
    ctx: click.Context,
    name: str,
    tenant: str,
    operator: bool,
    scopes: tuple[str, ...],
    days: int | None,
    as_json: bool,
    **given: Any,
) -> int:
    """Create the API key NAME and print it. It is shown only once."""
    from spanhook.errors import ConfigurationError
    from spanhook.server import LOCAL, OF_TENANTS, OPERATORS, KeyStore

    if bool(tenant) == operator:
        raise ConfigurationError("give one of --tenant ID and --operator")
    wanted = [part for one in scopes for part in one.split(",") if part]

    async def create(database: "Database") -> "tuple[str, ApiKey]":
        return await KeyStore(database).create(LOCAL, name, tenant, wanted, days=days)

    text, key = _with_database(ctx, given, create)
    if as_json:
        click.echo(json.dumps({"key": text, **_shown(key)}, indent=2))
    else:
        click.echo(text)
        click.echo("Keep it now: only a hash of it is stored.", err=True)
    if tenant and OPERATORS in wanted:
        click.echo(
            f"{OPERATORS} is for operators: the key of tenant {tenant!r} has {' and '.join(OF_TENANTS)} in its place.",
            err=True,
        )
    return 0


@keys.command(name="list")
@_DATABASE
@_FILE
@_JSON
@click.pass_context
def list_keys(ctx: click.Context, as_json: bool, **given: Any) -> int:
    """List all API keys, without their secrets."""
    from spanhook.server import KeyStore

    async def everything(database: "Database") -> "list[ApiKey]":
        return await KeyStore(database).all()

    found = [_shown(key) for key in _with_database(ctx, given, everything)]
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return 0
    for key in found:
        whose = f"tenant {key['tenant']}" if key["tenant"] else "operator"
        state = "revoked" if key["revoked_at"] else f"expires {key['expires_at'] or 'never'}"
        click.echo(f"{key['key_id']}  {key['name']}  {whose}  {','.join(key['scopes'])}  {state}")
    return 0


@keys.command(name="revoke")
@click.argument("key_id")
@_DATABASE
@_FILE
@click.pass_context
def revoke_key(ctx: click.Context, key_id: str, **given: Any) -> int:
    """Revoke the API key KEY_ID at once."""
    from spanhook.errors import ConfigurationError
    from spanhook.server import LOCAL, KeyStore

    async def revoke(database: "Database") -> bool:
        return await KeyStore(database).revoke(LOCAL, key_id)

    if not _with_database(ctx, given, revoke):
        raise ConfigurationError(f"there is no valid key {key_id!r}; `spanhook serve keys list` shows those that are")
    click.echo(f"revoked {key_id}")
    return 0


@serve.command()
@_DATABASE
@_FILE
@click.pass_context
def audit(ctx: click.Context, **given: Any) -> int:
    """Print the audit record, for `spanhook audit verify`."""
    from spanhook.server import audit_lines

    async def show(database: "Database") -> None:
        async for line in audit_lines(database):
            click.echo(line)

    _with_database(ctx, given, show)
    return 0


def _with_database(ctx: click.Context, given: dict[str, Any], do: "Callable[[Database], Awaitable[T]]") -> T:
    """Do something with the database that is given, before or after the subcommand's name, or in the file."""
    from spanhook.errors import ConfigurationError, StoreError
    from spanhook.server import read_settings
    from spanhook.store.control import Database

    file, url = ctx.obj
    settings = read_settings(given["file"] or file, database=given["database"] or url)

    async def opened() -> T:
        database = await Database.open(settings.database)
        try:
            return await do(database)
        finally:
            await database.close()

    try:
        return asyncio.run(opened())
    except StoreError as error:
        raise ConfigurationError(str(error)) from error


def _shown(key: "ApiKey") -> dict[str, Any]:
    return {
        "key_id": key.key_id,
        "name": key.name,
        "tenant": key.tenant,
        "scopes": sorted(key.scopes),
        "created_at": _time(key.created_ns),
        "expires_at": _time(key.expires_ns),
        "revoked_at": _time(key.revoked_ns),
        "used_at": _time(key.used_ns),
    }


def _time(ns: int) -> str:
    return datetime.fromtimestamp(ns / 1e9, UTC).isoformat(timespec="seconds") if ns else ""
