"""YAML as plain data, with the line of every key. Imported only when a file is read: PyYAML is optional.

Scalars follow YAML 1.2: ``off`` and ``no`` are text, ``010`` is ten, and dates are text.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, cast

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from spanhook.errors import ConfigurationFileError, Mistake

_yaml: Any = yaml  # it has no types
MOST_NODES, DEEPEST = 50_000, 50

Keys = tuple[str | int, ...]

_PLAIN, _TEXT = "plain", "tag:yaml.org,2002:str"
"""Tags of scalars without quotes, and of text."""

_SCALARS: tuple[tuple[re.Pattern[str], Callable[[str], Any]], ...] = (
    (re.compile(r"true|True|TRUE|false|False|FALSE"), lambda text: text.lower() == "true"),
    (re.compile(r"~|null|Null|NULL|"), lambda text: None),  # noqa: ARG005
    (re.compile(r"[-+]?[0-9]+"), int),
    (re.compile(r"0o[0-7]+"), lambda text: int(text, 8)),
    (re.compile(r"0x[0-9a-fA-F]+"), lambda text: int(text, 16)),
    (re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?"), float),
)


class Reader:
    """Turns the nodes of a document into data, and records line numbers."""

    def __init__(self, file: str) -> None:
        self._file = file
        self.lines: dict[Keys, int] = {}
        self._seen = 0

    def value(self, node: Node, keys: Keys) -> Any:
        """The value of a node.

        Raises:
            ConfigurationFileError: It is too large or too deep, or has a duplicate key or a tag.
        """
        self._seen += 1
        line = node.start_mark.line + 1
        self.lines.setdefault(keys, line)
        if self._seen > MOST_NODES or len(keys) > DEEPEST:
            raise self._mistake(line, f"has more than {MOST_NODES} values or {DEEPEST} levels; make it smaller")
        if isinstance(node, MappingNode):
            return self._mapping(node, keys)
        if isinstance(node, SequenceNode):
            return [self.value(one, (*keys, index)) for index, one in enumerate(cast("list[Node]", node.value))]
        return self._scalar(cast("ScalarNode", node), line)

    def _mapping(self, node: MappingNode, keys: Keys) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in cast("list[tuple[Node, Node]]", node.value):
            line = key.start_mark.line + 1
            if not isinstance(key, ScalarNode):
                raise self._mistake(line, "has a key that is not text; use a word")
            name = str(key.value)
            if name in found:
                raise self._mistake(line, f"the key {name!r} appears twice; keep one")
            self.lines[(*keys, name)] = line
            found[name] = self.value(value, (*keys, name))
        return found

    def _scalar(self, node: ScalarNode, line: int) -> Any:
        text = str(node.value)
        tag = str(node.tag)
        if tag not in (_PLAIN, _TEXT):
            raise self._mistake(line, f"the tag {tag!r} is not supported; remove it")
        if tag == _TEXT:
            return text
        for form, read in _SCALARS:
            if form.fullmatch(text):
                try:
                    return read(text)
                except ValueError:  # more digits than Python accepts
                    return text
        return text

    def _mistake(self, line: int, message: str) -> ConfigurationFileError:
        return ConfigurationFileError([Mistake(self._file, line, "", message)])


def parse(file: str, text: str) -> tuple[Any, Mapping[Keys, int]]:
    """The data of one YAML document and the line of each of its keys.

    Args:
        file: Its name in messages.
        text: Its text.

    Raises:
        ConfigurationFileError: It is not valid YAML, or is refused by ``Reader``.
    """
    reader = Reader(file)
    try:
        node = cast("Node | None", _yaml.compose(text, Loader=Plain))
        return (None if node is None else reader.value(node, ())), reader.lines
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        said = f"is not valid YAML: {', '.join(filter(None, (error.context, error.problem)))}"
        raise ConfigurationFileError([Mistake(file, mark.line + 1 if mark else 0, "", said)]) from None
    except yaml.YAMLError as error:
        said = f"is not valid YAML: {' '.join(str(error).split())}"
        raise ConfigurationFileError([Mistake(file, 0, "", said)]) from None
    except RecursionError:
        raise ConfigurationFileError([Mistake(file, 0, "", "is nested too deeply; flatten it")]) from None


class Plain(yaml.SafeLoader):
    """A loader that leaves scalars without quotes to ``Reader``."""

    def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
        """The tag of a node without an explicit one."""
        if kind is ScalarNode:
            return _PLAIN if implicit[0] else _TEXT
        return cast("Any", super()).resolve(kind, value, implicit)


def lines_of_json(text: str) -> Mapping[Keys, int]:
    """The line of each key of a JSON document, which is YAML except for tabs; empty if it cannot be parsed."""
    try:
        return parse("", text.replace("\t", " "))[1]
    except ConfigurationFileError:
        return {}
