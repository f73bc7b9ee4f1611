"""YAML as cards have it: plain data, each key once. PyYAML is imported when the first card is read or written."""

import re
from functools import cache
from types import ModuleType
from typing import Any

from spanhook.errors import AgentConfigError

_BREAKS = re.compile("[\x85\u2028\u2029]")
"""Line breaks to YAML, which PyYAML writes as they are and reads as spaces."""
MERGE = "tag:yaml.org,2002:merge"


def pyyaml() -> ModuleType:
    """PyYAML.

    Raises:
        AgentConfigError: It is not installed.
    """
    try:
        import yaml
    except ImportError as error:
        raise AgentConfigError('agent cards need PyYAML; run: pip install "spanhook[policies]"') from error
    return yaml


def parsed(text: str, where: str, first_line: int) -> Any:
    """The value that ``text`` stands for.

    Args:
        text: YAML.
        where: What it is, for messages.
        first_line: The line of the file that ``text`` begins with, counted from 1.

    Raises:
        AgentConfigError: It is no YAML, has objects of classes in it, or a key twice.
    """
    yaml = pyyaml()
    try:
        return yaml.load(text, _loader())
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error)
        place = "" if mark is None else f"line {first_line + mark.line}"
        raise AgentConfigError(
            f"{where} cannot be read as YAML: {' '.join(str(problem).split())}", place=place
        ) from None
    except RecursionError:
        raise AgentConfigError(f"{where} cannot be read as YAML: it is nested too deeply") from None
    except (ValueError, TypeError, OverflowError) as error:  # of a date or number that is none
        raise AgentConfigError(f"{where} cannot be read as YAML: {error}") from error


def written(value: Any, where: str) -> str:
    """``value`` as YAML.

    Raises:
        AgentConfigError: There is something in it that is no plain data.
    """
    yaml = pyyaml()
    try:
        text = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=100)
        if _BREAKS.search(text):
            text = yaml.safe_dump(value, sort_keys=False, width=100)
        return text
    except yaml.YAMLError as error:
        problem = error.args[0] if error.args else error
        raise AgentConfigError(f"{where} cannot be written: {problem}: {error.args[-1]!r:.80}") from None
    except RecursionError:
        raise AgentConfigError(f"{where} cannot be written: it is nested too deeply") from None


@cache
def _loader() -> Any:
    yaml: Any = pyyaml()

    class UniqueKeys(yaml.SafeLoader):
        """Refuses what PyYAML takes silently: of two equal keys it would keep the last."""

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            seen: set[tuple[str, str]] = set()
            for key, _value in node.value:
                if isinstance(key, yaml.ScalarNode) and key.tag != MERGE:
                    if (key.tag, key.value) in seen:
                        raise yaml.constructor.ConstructorError(
                            None, None, f"the key {key.value!r} is there twice", key.start_mark
                        )
                    seen.add((key.tag, key.value))
            return yaml.SafeLoader.construct_mapping(self, node, deep=deep)

    return UniqueKeys
