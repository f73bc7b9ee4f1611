"""Write the dashboards: ``python -m grafana.src``; with ``--check`` only tell which files differ."""

import argparse
import sys
from pathlib import Path

from grafana.src import agents, hooks, pipeline, tools, usage
from grafana.src.frame import as_json

FOLDER = Path(__file__).resolve().parents[1] / "dashboards"


def texts() -> dict[str, str]:
    """What each file should hold, by its name."""
    built = (agents.dashboard(), usage.dashboard(), tools.dashboard(), hooks.dashboard(), pipeline.dashboard())
    return {f"{one.uid}.json": as_json(one) for one in built}


def differing() -> list[str]:
    """Files that do not hold what they should, those that nothing makes included."""
    wanted = texts()
    there = {path.name: path.read_text() for path in FOLDER.glob("*.json")}
    return sorted(name for name in wanted.keys() | there.keys() if wanted.get(name) != there.get(name))


def main(arguments: list[str]) -> int:
    """Write or check; 1 if something differs."""
    parser = argparse.ArgumentParser(prog="python -m grafana.src", description="Write the dashboards.")
    parser.add_argument("--check", action="store_true", help="write nothing; tell which files differ")
    check = parser.parse_args(arguments).check
    stale = differing()
    if check:
        for name in stale:
            sys.stderr.write(f"{name} is not what grafana/src makes: python -m grafana.src\n")
        return 1 if stale else 0
    for name, text in texts().items():
        (FOLDER / name).write_text(text)
    sys.stdout.write(f"{', '.join(stale) or 'nothing'} changed in {FOLDER}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
