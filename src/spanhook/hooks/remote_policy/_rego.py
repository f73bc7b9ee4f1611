"""Rego in the process, by the package ``regopy``; see https://www.openpolicyagent.org/docs/policy-language."""

import json
import threading
from typing import Any

from spanhook.errors import ConfigurationError
from spanhook.gating import renewed_after_fork
from spanhook.hooks.remote_policy._config import Config
from spanhook.hooks.remote_policy._facts import Facts, encoded
from spanhook.hooks.remote_policy._files import contents
from spanhook.hooks.remote_policy._services import Address
from spanhook.hooks.remote_policy._verdict import UnreadableAnswer, Verdict
from spanhook.store import in_worker


class Rego:
    """One query, which has to be exactly true for a call to be allowed.

    Args:
        config: The settings.

    Raises:
        ConfigurationError: A file cannot be used, or a package is missing.
    """

    address = Address()

    def __init__(self, config: Config) -> None:
        try:
            import regopy
        except ImportError:
            raise ConfigurationError('service="rego" needs the package regopy; pip install "spanhook[rego]"') from None
        except OSError as error:  # its wheels for Linux leave a library of GCC's to the system
            raise ConfigurationError(
                f'service="rego" cannot load the package regopy: {error}; on Debian, it needs the package libatomic1'
            ) from None
        self._query = config.query
        self._lock = threading.Lock()
        self._engine: Any = regopy.Interpreter()
        try:
            for path in config.policies:
                self._engine.add_module(path, contents(path))
            if config.data:
                self._engine.add_data_json(contents(config.data))
            if not self._engine.query(config.query).ok():
                raise ConfigurationError(f"query={config.query!r} cannot be evaluated")
        except regopy.RegoError as error:
            raise ConfigurationError(f"Rego cannot read its files: {' '.join(str(error).split())[:300]}") from None
        renewed_after_fork(self)

    def renew(self) -> None:
        """In a forked child: another thread of the parent may have held the lock."""
        self._lock = threading.Lock()

    async def ask(self, facts: Facts) -> Verdict:
        return _read(await in_worker(self._asked, encoded(facts.whole).decode("utf-8")))

    def _asked(self, question: str) -> str:
        """The result as JSON; the word ``undefined`` if there is none.

        The input is given as text: regopy takes large numbers for 0 when it converts them itself.
        """
        try:
            with self._lock:
                self._engine.set_input_term(question)
                answer = self._engine.query(self._query)
                return str(answer) if answer.ok() else ""
        except Exception as error:
            raise UnreadableAnswer(f"Rego has failed: {type(error).__name__}") from None


def _read(answer: str) -> Verdict:
    if answer == "undefined":
        return Verdict("deny", answer)  # also what a query gives that is false
    try:
        found: Any = json.loads(answer)
    except ValueError:
        raise UnreadableAnswer("Rego has not decided") from None
    if found == {"expressions": [True]} and found["expressions"][0] is True:
        return Verdict("allow", "true", "boolean")
    if found == {"expressions": [False]} and found["expressions"][0] is False:
        return Verdict("deny", "false", "boolean")
    raise UnreadableAnswer("Rego's result is neither true nor false")
