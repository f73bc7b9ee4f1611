"""Names that users give libraries, and what they are told about those that nothing has."""

import sys
from pathlib import Path
from typing import Any

import pytest
import wrapt

import spanhook
from spanhook import ConfigurationError
from spanhook.diagnostics import internal
from spanhook.instrument import INSTRUMENTORS, hint, meant, names
from spanhook.instrument.instrumentor import BOUND, WAITING, Bindings
from spanhook.model import Signal, libraries


@pytest.mark.parametrize(
    ("given", "library"),
    [
        ("Groq", "groq"),
        ("google.genai", "google_genai"),
        ("Google-GenAI", "google_genai"),
        ("pydantic_ai_slim", "pydantic_ai"),
        ("openai-agents", "openai_agents"),
        (" bedrock ", "botocore"),
        ("boto3", "botocore"),
    ],
)
def test_names_are_compared_as_package_indexes_do(given: str, library: str) -> None:
    assert meant(given) == library
    assert names([given]) == [library]


@pytest.mark.every_value
@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("mistral", "; did you mean 'mistralai'?"),
        ("agents", "; did you mean 'openai_agents'?"),
        ("botocor", "; did you mean 'botocore'?"),
        ("ollama", "; 'ollama' is known, but spanhook does not bind it"),
        ("fireworks_ai", "; 'fireworks_ai' is known, but spanhook does not bind it"),
        ("zzz", ""),
    ],
)
def test_what_helps_with_another_name(given: str, told: str) -> None:
    assert hint(given) == told
    with pytest.raises(ConfigurationError) as caught:
        names([given])
    bound = ", ".join(sorted(INSTRUMENTORS))
    assert str(caught.value) == f"unknown library {given!r}; spanhook binds {bound}{told}"


def test_a_module_is_awaited_once_however_often_its_points_are_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    awaited: list[str] = []
    register = wrapt.register_post_import_hook

    def noting(hook: Any, name: str) -> None:
        awaited.append(name)
        register(hook, name)

    monkeypatch.setattr(wrapt, "register_post_import_hook", noting)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "spanhook_late.py").write_text("def tell(): ...\n")
    signal = Signal(module="spanhook_late", name="tell", after="builtins:print")
    bindings = Bindings((signal,))
    for _ in range(3):
        bindings.restore()
        bindings.bind()
    assert (awaited, bindings.states) == (["spanhook_late"], {str(signal): WAITING})
    __import__("spanhook_late")
    try:
        assert bindings.states == {str(signal): BOUND}
        bindings.restore()
        bindings.bind()
        assert bindings.states == {str(signal): BOUND}
        bindings.restore()
        del sys.modules["spanhook_late"]
        bindings.bind()
        assert awaited == ["spanhook_late"] * 2
    finally:
        bindings.restore()
        sys.modules.pop("spanhook_late", None)


def _listened(before: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The value of a function to whose call ``before`` listens."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "spanhook_heard.py").write_text(f"def tell(one): return one\nbefore = {before}\n")
    bindings = Bindings((Signal(module="spanhook_heard", name="tell", before="spanhook_heard:before"),))
    module = __import__("spanhook_heard")
    try:
        bindings.bind()
        return module.tell("given")
    finally:
        bindings.restore()
        sys.modules.pop("spanhook_heard", None)


@pytest.mark.parametrize("before", ["lambda *call: 1 / 0", "lambda *call: None", "lambda *call: (1, 2, 3)"])
def test_what_fails_before_a_call_leaves_it_as_it_is(
    before: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(internal, "fatal", False)
    assert _listened(before, tmp_path, monkeypatch) == "given"
    assert internal.counts["signal"] == 1


def test_arguments_are_changed_before_a_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _listened("lambda *call: (('changed',), {})", tmp_path, monkeypatch) == "changed"


def test_packages_are_libraries_while_they_are_bound() -> None:
    before = +libraries
    for _ in range(2):
        spanhook.instrument()
        assert libraries["langgraph"]
        spanhook.uninstrument()
        spanhook.uninstrument()
        assert +libraries == before
