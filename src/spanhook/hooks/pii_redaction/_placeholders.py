"""Placeholders of one run: which value each stands for. Kept in memory only, as long as the run."""

import json
import re
from threading import Lock

from spanhook.gating import renewed_after_fork

_FORM = re.compile(r"<[A-Z][A-Z0-9_]{0,63}_[1-9][0-9]{0,8}>")


class Placeholders:
    """The placeholders of one run, such as ``<EMAIL_1>``. The same value gets the same placeholder."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._of: dict[tuple[str, str], str] = {}
        self._values: dict[str, str] = {}
        self._taken: set[str] = set()
        self._last: dict[str, int] = {}
        renewed_after_fork(self)

    def renew(self) -> None:
        """Use a lock of its own in a forked child."""
        self._lock = Lock()

    def substitute(self, entity: str, value: str) -> str:
        """The placeholder for a value."""
        with self._lock:
            known = self._of.get((entity, value))
            if known is not None:
                return known
            while True:
                number = self._last[entity] = self._last.get(entity, 0) + 1
                made = f"<{entity}_{number}>"
                if made not in self._taken:
                    break
            self._of[entity, value] = made
            self._values[made] = value
            return made

    def knows(self, entity: str, value: str) -> bool:
        """Whether this value has a placeholder."""
        return (entity, value) in self._of

    def reserve(self, text: str) -> str:
        """Never use what a text already contains, unless it has been used before. Returns the text."""
        said = _FORM.findall(text) if "<" in text else ()
        if said:
            with self._lock:
                self._taken.update(one for one in said if one not in self._values)
        return text

    def restore(self, text: str) -> str:
        """A text with the values that its placeholders stand for; inside JSON they are escaped as JSON has it."""
        if "<" not in text or not self._values:
            return text
        is_json = text.lstrip()[:1] in ("{", "[")

        def value_of(found: re.Match[str]) -> str:
            value = self._values.get(found[0])
            if value is None:
                return found[0]
            return json.dumps(value, ensure_ascii=False)[1:-1] if is_json and _breaks_json(value) else value

        return _FORM.sub(value_of, text)


def _breaks_json(value: str) -> bool:
    return any(char in '"\\' or char < " " for char in value)
