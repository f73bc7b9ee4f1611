"""Writing a card so that it can be read again."""

import os
from os import PathLike
from pathlib import Path
from typing import Any

from spanhook.cards._reading import MAX_BYTES, body_of, is_yaml
from spanhook.cards._yaml import written
from spanhook.cards.card import AgentCard, located
from spanhook.errors import AgentConfigError
from spanhook.gating import is_path


def dump_card(card: AgentCard, path: str | PathLike[str] | None = None) -> str:
    """Write a card with all its fields and lifecycle hooks. YAML comments are not kept.

    Args:
        card: The card.
        path: The file to write; its ending says in which form. Files of lifecycle hooks are named as seen from its
            folder. Unless given, nothing is written, and the form is that of the card's own file, else Markdown.

    Returns:
        The card's text.

    Raises:
        AgentConfigError: It cannot be written, or something in it is no plain data. The file is left as it was.
    """
    target = None if path is None else Path(path)
    form = target or card.path or Path(f"{card.name}.md")
    where = f"card {str(form)!r}"
    said: dict[str, Any] = {"name": card.name}
    if card.lifecycle_hooks:
        folder = card.folder if target is None else os.path.abspath(target.parent)
        said["lifecycle_hooks"] = {
            key: _seen_from(folder, card.folder, reference) for key, reference in card.lifecycle_hooks.items()
        }
    said.update(card.fields)
    text = _text(said, card.instruction, where, as_yaml=is_yaml(form))
    if target is not None:
        _write(target, text, where)
    return text


def _text(said: dict[str, Any], instruction: str, where: str, *, as_yaml: bool) -> str:
    # Not every text is the same again once it has stood in a body.
    below = not as_yaml and body_of(instruction) == instruction and "\r" not in instruction
    if instruction and not below:
        said["instruction"] = instruction
    front = written(said, where)
    if as_yaml:
        return front
    return f"---\n{front}---\n\n{instruction}\n" if instruction and below else f"---\n{front}---\n"


def _seen_from(folder: str, before: str, reference: str) -> str:
    """A reference that was relative to ``before``, relative to ``folder``."""
    target, _, name = reference.rpartition(":")
    if folder == before or not is_path(target) or os.path.isabs(os.path.expanduser(target)):
        return reference
    file, _, name = located(reference, before).rpartition(":")
    return f"{os.path.relpath(file, folder)}:{name}"


def _write(file: Path, text: str, where: str) -> None:
    try:
        content = text.encode()
    except UnicodeEncodeError as error:
        raise AgentConfigError(
            f"{where} cannot be written as UTF-8: {error.reason} in {error.object[error.start]!r}"
        ) from error
    if len(content) > MAX_BYTES:
        raise AgentConfigError(f"{where} would be longer than {MAX_BYTES:,} bytes, and could not be read")
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        beside.write_bytes(content)
        beside.replace(file)
    except (OSError, ValueError) as error:
        beside.unlink(missing_ok=True)
        raise AgentConfigError(f"{where} cannot be written: {error}; correct the path") from error
