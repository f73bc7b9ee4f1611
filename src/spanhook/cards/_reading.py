"""Reading a card: Markdown with YAML front matter, or a YAML file."""

import os
import re
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, cast

from spanhook.cards._yaml import parsed
from spanhook.cards.card import RESERVED, AgentCard
from spanhook.errors import AgentConfigError

MARKDOWN, YAML = (".md", ".markdown"), (".yaml", ".yml")
MAX_BYTES = 1_000_000

_FRONT = re.compile(r"---[ \t]*\n(?P<front>.*?)^---[ \t]*(?:\n|\Z)(?P<body>.*)", re.DOTALL | re.MULTILINE)


class Parts(NamedTuple):
    """The parts of a card's text."""

    front: str
    body: str
    first_line: int


def load_card(path: str | PathLike[str]) -> AgentCard:
    """Read an agent's card. Lifecycle hooks are validated now, and imported when the agent starts.

    Args:
        path: A ``.md`` file with YAML between two ``---`` lines and the instruction below, or a ``.yaml`` file.

    Returns:
        The card. Its name defaults to that of the file.

    Raises:
        AgentConfigError: The file does not exist, is not a card, or has a mistake in it; the message names it.
    """
    file = Path(path)
    where = f"card {str(file)!r}"
    as_yaml = is_yaml(file)
    parts = _apart(_text(file, where), as_yaml, where)
    return _card(file, where, parsed(parts.front, where, parts.first_line), parts.body)


def is_yaml(file: Path) -> bool:
    """Whether a file of this name is a YAML card.

    Raises:
        AgentConfigError: The file extension is not one of a card.
    """
    suffix = file.suffix.lower()
    if suffix not in (*MARKDOWN, *YAML):
        raise AgentConfigError(f"card {str(file)!r}: expected a file that ends in {', '.join((*MARKDOWN, *YAML))}")
    return suffix in YAML


def _text(file: Path, where: str) -> str:
    try:
        with file.open("rb") as opened:
            found = opened.read(MAX_BYTES + 1)
    except OSError as error:
        raise AgentConfigError(f"{where} cannot be read: {error.strerror}; correct the path") from error
    except ValueError as error:  # a path with a null byte
        raise AgentConfigError(f"{where} cannot be read: {error}; correct the path") from error
    if len(found) > MAX_BYTES:
        raise AgentConfigError(f"{where} is longer than {MAX_BYTES:,} bytes; expected a card")
    try:
        return found.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise AgentConfigError(
            f"{where} is not UTF-8: {error.reason} at byte {error.start}; save it as UTF-8"
        ) from error


def _apart(text: str, as_yaml: bool, where: str) -> Parts:
    if as_yaml:
        return Parts(text, "", 1)
    found = _FRONT.match(text)
    if found is not None:
        return Parts(found["front"], body_of(found["body"]), 2)
    if text.startswith("---") and not text.partition("\n")[0].strip("- \t"):
        raise AgentConfigError(f"{where} begins with '---', and no other line '---' ends its front matter; add one")
    return Parts("", body_of(text), 1)


def body_of(text: str) -> str:
    """The instruction in the text below the front matter."""
    return text.strip()


def _card(file: Path, where: str, said: Any, body: str) -> AgentCard:
    if said is None:
        said = {}
    if not isinstance(said, dict):
        raise AgentConfigError(f"{where} is a {type(said).__name__}; expected keys with values, such as name: desk")
    fields = cast("dict[Any, Any]", said)
    for key in fields:
        if not isinstance(key, str):
            raise AgentConfigError(f"{where} has the key {key!r}; expected text; put it in quotes")
    if body and fields.get("instruction"):
        raise AgentConfigError(f"{where} has an instruction and text below its front matter; keep one of them")
    return AgentCard(
        name=file.stem if fields.get("name") is None else fields["name"],
        instruction=body or _or_nothing(fields.get("instruction"), ""),
        lifecycle_hooks=_or_nothing(fields.get("lifecycle_hooks"), {}),
        fields={key: value for key, value in fields.items() if key not in RESERVED},
        path=Path(os.path.abspath(file)),
    )


def _or_nothing(value: Any, nothing: Any) -> Any:
    """The value of a key; an empty key counts as absent."""
    return nothing if value is None else value
