"""The command ``spanhook``: parses, calls, prints. What is called is imported by the command that needs it."""

import sys
from difflib import get_close_matches
from typing import Any, NoReturn, get_args

import click

from spanhook.cli.approving import approvals
from spanhook.cli.serving import serve
from spanhook.cli.stacking import down, status, up
from spanhook.cli.working import worker
from spanhook.errors import RequirementError, SpanhookError
from spanhook.settings import Mode
from spanhook.version import __version__

_HOOKS = click.option("--hooks", multiple=True, metavar="SPEC", help="./hooks.py:hooks or package.module:hooks.")
_CONFIG = click.option(
    "--config", metavar="FILE", help="spanhook.yaml; default: the one in the working directory, '' for none."
)
_MODE = click.option(
    "--mode",
    type=click.Choice(get_args(Mode)),
    help="shadow: hooks run and are recorded, nothing is enforced. off: no hook runs.",
)
_REQUIRE = click.option("--require", multiple=True, metavar="A,B", help="Libraries that must be bound.")
_STRICT = click.option(
    "--strict",
    is_flag=True,
    help="Refuse agent libraries that are not bound, and ask for the end mark of the configuration file.",
)
_ALLOW = click.option("--allow", multiple=True, metavar="A,B", help="Unbound libraries to accept.")


class Runner(click.Command):
    """A command of which everything from the target on belongs to the target."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        dashes = args.index("--") if "--" in args else None
        rest = super().parse_args(ctx, args.copy())
        # click takes the `--` away; it was ours if just what follows it is the target
        self._check_option(ctx.params["target"][:1])
        ctx.params["command"] = dashes is not None and len(args) - dashes - 1 == len(ctx.params["target"])
        return rest

    def _check_option(self, first: tuple[str, ...]) -> None:
        """Name the option that is meant by a misspelt one, which stands where the target should."""
        for word in first:
            option = word.partition("=")[0]
            close = get_close_matches(option, [name for one in self.params for name in one.opts], 1)
            if option.startswith("--") and close:
                raise click.UsageError(f"no such option {option!r}; did you mean {close[0]}?")


@click.group(invoke_without_command=True)
@click.version_option(__version__, message="%(version)s")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Hooks for AI agents: trace, gate and count every agent run, LLM call and tool execution."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@cli.command(
    cls=Runner,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    options_metavar="[OPTIONS] [--]",
)
@_HOOKS
@_REQUIRE
@_CONFIG
@_MODE
@click.option("--console", is_flag=True, help="Print each finished run on standard error.")
@click.option("--steps", is_flag=True, help="Make a span for every graph node.")
@click.option("--stream-usage", is_flag=True, help="Ask OpenAI for the usage of streams.")
@click.option("--error-messages", is_flag=True, help="Record what exceptions say, which may quote content.")
@click.option(
    "--input-output-values", is_flag=True, help="Record content of agents and tools as input.value and output.value."
)
@_STRICT
@_ALLOW
@click.argument("target", nargs=-1, type=click.UNPROCESSED)
def run(target: tuple[str, ...], command: bool, **given: Any) -> None:
    """Start an application with hooks active before its first import.

    TARGET is app.py, -m module, or any command line after --, each with its arguments. Options that are not given are
    read from the environment, for example --hooks from SPANHOOK_HOOKS and --stream-usage from SPANHOOK_STREAM_USAGE.
    """
    import os

    from spanhook import bootstrap

    wanted = bootstrap.read_environment(os.environ, **given)
    bootstrap.run(bootstrap.resolve(target, command=command), wanted)


@cli.command()
@_HOOKS
@_CONFIG
@_REQUIRE
@_STRICT
@_ALLOW
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def doctor(as_json: bool, **given: Any) -> int:
    """Report what is installed, bound and exported here, and anything unusual."""
    from spanhook.cli.doctor import run_doctor

    return run_doctor(as_json, **given)


@cli.command()
@click.option("--live", is_flag=True, help="Use a real provider, if its key is set.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option("--serve", is_flag=True, help="Show the runs in the control plane, too, until Ctrl+C.")
@click.option("--port", type=click.IntRange(0, 65535), help="With --serve: where it listens; default: 8321.")
@click.option("--database", metavar="URL", help="With --serve: default: sqlite:///spanhook.db.")
def demo(live: bool, as_json: bool, serve: bool, port: int | None, database: str | None) -> int:
    """Run a small agent under hooks and show what they did."""
    from spanhook.cli.demo import run_demo, serve_demo

    if not serve:
        if port is not None or database is not None:
            raise click.UsageError("--port and --database need --serve")
        return run_demo(live, as_json)
    if as_json:
        raise click.UsageError("give one of --json and --serve")
    return serve_demo(live=live, port=port, database=database)


@cli.command()
@click.option("--runs", default=100, show_default=True, type=click.IntRange(1), help="Number of agent runs.")
@click.option("--seed", default=1, show_default=True, help="The same seed makes the same runs.")
@click.option("--concurrency", default=1, show_default=True, type=click.IntRange(1), help="Runs at a time.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def load(runs: int, seed: int, concurrency: int, as_json: bool) -> int:
    """Make scripted agent runs and print their exact totals."""
    from spanhook.cli.load import run_load

    return run_load(runs, seed, concurrency, as_json)


@cli.command()
@click.option("--library", "libraries", multiple=True, metavar="A,B", help="Check only these; default: all installed.")
@click.option("--quick", is_flag=True, help="Try one subject of each kind, such as tools, in one way.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def conformance(libraries: tuple[str, ...], quick: bool, as_json: bool) -> int:
    """Check the gates against the installed versions of the libraries.

    Tries every way of calling, with scripted models and servers on loopback, without your hooks and exporters. Checks
    that denied calls are not made, each call is counted once, streams are held back, and rewrites arrive. All cores are
    used; on two of them, the libraries of [all] take two to three minutes, with --quick about half a minute. The exit
    code is 1 if any check fails.
    """
    from spanhook.cli.conformance import run_conformance

    return run_conformance(libraries, as_json, quick)


@cli.command(short_help="Show what hooks would have decided about recorded spans.")
@_HOOKS
@_CONFIG
@click.option("--compare", is_flag=True, help="Compare with what was decided then; the exit code is 1 if any differs.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.argument("files", nargs=-1, metavar="SPANS.JSONL...")
def replay(files: tuple[str, ...], compare: bool, as_json: bool, **given: Any) -> int:
    """Run hooks on recorded spans, and show what they would have decided.

    Reads OTLP JSON lines, as the collector's file exporter writes them, compressed or not; - is standard input. Nothing
    is called and nothing is exported. A decision is `unknown` if its hook reads what is not recorded. The exit code is
    1 if a line cannot be read.
    """
    from spanhook.cli.replay import run_replay

    return run_replay(files, compare, as_json, **given)


@cli.group(invoke_without_command=True)
@click.pass_context
def config(ctx: click.Context) -> None:
    """Write and check configuration files, print their schema, and show what would be active."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@config.command()
def schema() -> int:
    """Print the JSON Schema of configuration files."""
    from spanhook.cli.configuration import print_schema

    return print_schema()


@config.command()
@click.argument("file", default="spanhook.yaml")
def init(file: str) -> int:
    """Write a first configuration FILE; default: spanhook.yaml in the working directory."""
    from spanhook.cli import configuration

    return configuration.init(file)


@config.command()
@click.argument("file", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def check(file: str | None, as_json: bool) -> int:
    """Print every mistake in FILE with its line and key; default: the file in the working directory.

    The exit code is 2 if there is a mistake. Hooks in Python are not loaded.
    """
    from spanhook.cli import configuration

    return configuration.check(file, as_json)


@config.command()
@_HOOKS
@_CONFIG
@_MODE
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def show(as_json: bool, **given: Any) -> int:
    """Show the settings, hooks and policies that `spanhook run` would use here, and where each comes from."""
    from spanhook.cli import configuration

    return configuration.show(as_json, **given)


@cli.group(invoke_without_command=True)
@click.pass_context
def audit(ctx: click.Context) -> None:
    """Verify the files of audit logs."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@audit.command(name="verify")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False))
@click.option("--key-env", default="", metavar="NAME", help="The environment variable with the key.")
@click.option("--head", "heads", multiple=True, metavar="HASH", help="A hash that must be there; can be repeated.")
@click.option("--partial", is_flag=True, help="Accept that the first files of a chain are missing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def audit_verify(files: tuple[str, ...], key_env: str, heads: tuple[str, ...], partial: bool, as_json: bool) -> int:
    """Report changed, removed, inserted and reordered records in FILES.

    The exit code is 0 if all are whole, 1 if not.
    """
    from spanhook.cli.audit import run_verify

    return run_verify(files, key_env, heads, partial, as_json)


for command in (up, down, status, approvals, serve, worker):
    cli.add_command(command)


def main() -> NoReturn:
    """Run the command; exits with 2 for wrong configuration, 3 for a requirement that is not met."""
    try:
        code = cli.main(prog_name="spanhook", standalone_mode=False)
    except click.ClickException as error:
        _fail(error.format_message(), error.exit_code)
    except click.Abort:
        _fail("stopped", 130)
    except RequirementError as error:
        _fail(str(error), 3)
    except SpanhookError as error:
        _fail(str(error), 2)
    sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str, code: int) -> NoReturn:
    lines = [" ".join(line.split()) for line in message.splitlines() if line.strip()]
    click.echo("spanhook: " + "\n  ".join(lines), err=True)
    sys.exit(code)
