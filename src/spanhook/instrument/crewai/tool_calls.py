"""Tool calls as models give them, in the form of any provider, and tools' names."""

from typing import Any, cast

from crewai.utilities.agent_utils import extract_tool_call_info
from crewai.utilities.string_utils import sanitize_tool_name

from spanhook.instrument.wire import decoded
from spanhook.model import exact_text, json_text


def named(name: Any) -> str:
    """A tool's name as models see it."""
    return sanitize_tool_name(exact_text(name))


def names_of(*names: Any) -> frozenset[str]:
    """A tool's names: as models see it, and as it was given."""
    return frozenset(one for name in names if name for one in (exact_text(name), named(name)))


def read(call: Any) -> tuple[str, str, dict[str, Any]] | None:
    """Id, tool and arguments of a call; ``None`` if it is in no known form."""
    found = extract_tool_call_info(call)
    return None if found is None else (str(found[0]), found[1], arguments_in(found[2]))


def arguments_in(given: Any) -> dict[str, Any]:
    """Arguments by name, however a model gave them; none if they cannot be read."""
    told = decoded(given)
    return {**cast("dict[str, Any]", told)} if isinstance(told, dict) else {}


def made(call_id: str, name: str, arguments: Any) -> dict[str, Any]:
    """A call in a form that CrewAI reads."""
    told = arguments if isinstance(arguments, str) else json_text(arguments or {})
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": told}}
