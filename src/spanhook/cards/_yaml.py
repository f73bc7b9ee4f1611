"""YAML for cards: plain data without duplicate keys. PyYAML is imported when the first card is read or written."""

import re
from functools import cache
from types import ModuleType
from typing import Any

from spanhook.errors import AgentConfigError

_BREAKS = re.compile("[\x85\u2028\u2029]")
"""Line breaks in YAML. PyYAML writes them unescaped and reads them as spaces."""
MERGE = "tag:yaml.org,2002:merge"


def pyyaml() -> ModuleType:
    """Import PyYAML.

    Raises:
        AgentConfigError: It is not installed.
    """
    try:
        import yaml
    except ImportError as error:
        raise AgentConfigError('agent cards need PyYAML; run: pip install "spanhook[policies]"') from error
    return yaml


def parsed(text: str, where: str, first_line: int) -> Any:
    """Parse YAML.

    Args:
        text: YAML.
        where: What the text is, for messages.
        first_line: The line of the file at which ``text`` begins, counted from 1.

    Raises:
        AgentConfigError: It is not valid YAML, contains Python objects, or has a duplicate key.
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
        AgentConfigError: It contains something other than plain data.
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
        """Rejects duplicate keys, of which PyYAML would silently keep the last."""

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            seen: set[tuple[str, str]] = set()
            for key, _value in node.value:
                if isinstance(key, yaml.ScalarNode) and key.tag != MERGE:
                    if (key.tag, key.value) in seen:
                        raise yaml.constructor.ConstructorError(
                            None, None, f"the key {key.value!r} occurs twice", key.start_mark
                        )
                    seen.add((key.tag, key.value))
            return yaml.SafeLoader.construct_mapping(self, node, deep=deep)

    return UniqueKeys
