"""Reading configuration files: what words mean, the line of each key, and what is refused."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spanhook import ConfigurationError
from spanhook.config.reading import LARGEST, read, written
from spanhook.errors import ConfigurationFileError
from tests.config.conftest import Write


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("off", "off"),
        ("on", "on"),
        ("no", "no"),
        ("Yes", "Yes"),
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("010", 10),
        ("0o10", 8),
        ("0x1F", 31),
        ("-3", -3),
        ("1_000", "1_000"),
        ("12:30", "12:30"),
        ("2.5", 2.5),
        (".5", 0.5),
        ("1e3", 1000.0),
        (".inf", ".inf"),
        ("2026-01-01", "2026-01-01"),
        ("'1'", "1"),
        ('"true"', "true"),
        ("!!str 1", "1"),
        ("9" * 5000, "9" * 5000),
        ("[1, a]", [1, "a"]),
        ("|-\n  two\n  lines", "two\nlines"),
    ],
)
def test_words_mean_what_yaml_1_2_says(write: Write, text: str, value: Any) -> None:
    assert read(write(f"a: {text}\n")).data == {"a": value}


YAML = """
version: 1
# of a comment
policies:
  - use: deny
    with:
      rules:
        - tools: [refund]
"""

JSON = """
{"version": 1,
\t"policies": [
\t\t{"use": "deny",
\t\t "with": {"rules": [
\t\t\t{"tools": ["refund"]}]}}]}
"""

TOML = """
[project]
name = "x"

[tool.spanhook]
version = 1

[[tool.spanhook.policies]]
use = "deny"  # a comment

[tool.spanhook.policies.with]
rules = [{tools = ["refund"]}]
"""


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        ("spanhook.yaml", YAML, [1, 4, 5, 7, 1]),
        ("spanhook.json", JSON, [1, 3, 4, 5, 1]),
        ("pyproject.toml", TOML, [5, 8, 10, 11, 4]),
    ],
)
def test_every_key_has_its_line(write: Write, name: str, text: str, lines: list[int]) -> None:
    document = read(write(text, name))

    assert document.data == {"version": 1, "policies": [{"use": "deny", "with": {"rules": [{"tools": ["refund"]}]}}]}
    keys: Any = (
        ("version",),
        ("policies", 0, "use"),
        ("policies", 0, "with"),
        ("policies", 0, "with", "rules", 0, "tools", 0),
        ("absent",),
    )
    assert [document.line(one) for one in keys] == lines


def test_a_toml_file_of_another_name_is_read_as_a_whole(write: Write) -> None:
    document = read(write("version = 1\n[settings]\nsteps = true\n", "spanhook.toml"))

    assert document.data == {"version": 1, "settings": {"steps": True}}
    assert document.line(("settings", "steps")) == 3


def test_of_an_aegra_json_only_hooks_are_read(write: Write) -> None:
    document = read(write('{"graphs": {"a": "./a.py:graph"},\n "hooks": {"path": "./hooks.py:hooks"}}', "aegra.json"))

    assert document.data == {"hooks": {"path": "./hooks.py:hooks"}}
    assert document.line(("hooks", "path")) == 2


def test_a_file_may_begin_with_a_byte_order_mark(write: Write) -> None:
    path = Path(write(""))
    path.write_bytes(b"\xef\xbb\xbfversion: 1\n")

    assert read(str(path)).data == {"version": 1}


def test_anchors_are_followed(write: Write) -> None:
    assert read(write("a: &a [1]\nb: *a\n")).data == {"a": [1], "b": [1]}


BOMB = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))

WRONG = {
    "empty": ("spanhook.yaml", "", "spanhook.yaml:1: is empty; expected keys such as version: 1 and policies"),
    "only a comment": ("spanhook.yaml", "# nothing", "spanhook.yaml:1: is empty"),
    "a list": ("spanhook.yaml", "- 1", "spanhook.yaml:1: is a list"),
    "a word": ("spanhook.yaml", "hooks", "spanhook.yaml:1: is a str"),
    "open bracket": ("spanhook.yaml", "a: 1\nb: [1", "spanhook.yaml:2: is not valid YAML"),
    "tab": ("spanhook.yaml", "a:\n\tb: 1", "spanhook.yaml:2: is not valid YAML"),
    "two documents": ("spanhook.yaml", "a: 1\n---\nb: 1", "spanhook.yaml:2: is not valid YAML"),
    "a key twice": ("spanhook.yaml", "a: 1\nb: 1\na: 2", "spanhook.yaml:3: the key 'a' appears twice; keep one"),
    "a key that is a list": ("spanhook.yaml", "? [1]\n: 2", "spanhook.yaml:1: has a key that is not text"),
    "a tag": ("spanhook.yaml", "a: 1\nb: !!python/object:os.system x", "spanhook.yaml:2: the tag"),
    "inside itself": ("spanhook.yaml", "a: &a [*a]", "spanhook.yaml:1: has more than 50000 values or 50 levels"),
    "a bomb": ("spanhook.yaml", BOMB, "has more than 50000 values or 50 levels; make it smaller"),
    "deep": ("spanhook.yaml", "[" * 1000, "spanhook.yaml: is nested too deeply; flatten it"),
    "a control character": ("spanhook.yaml", "a: \x00", "spanhook.yaml: is not valid YAML"),
    "no such alias": ("spanhook.yaml", "a: *x", "spanhook.yaml:1: is not valid YAML: found undefined alias 'x'"),
    "another version of YAML": ("spanhook.yaml", "%YAML 9.9\n---\na: 1", "spanhook.yaml:1: is not valid YAML"),
    "json": ("spanhook.json", '{"a": 1\n"b": 2}', "spanhook.json:2: is not valid JSON"),
    "json with a key twice": ("spanhook.json", '{"a": 1, "a": 2}', "the key 'a' appears twice"),
    "json with NaN": ("spanhook.json", '{"a": NaN}', "NaN is not a number"),
    "deep json": ("spanhook.json", "[" * 100_000, "is not valid JSON"),
    "toml": ("spanhook.toml", "a = 1\nb = ", "spanhook.toml: is not valid TOML"),
    "toml in the middle": ("spanhook.toml", "a = 1\nb = x\nc = 1", "spanhook.toml:2: is not valid TOML"),
    "no table": ("pyproject.toml", "[tool.ruff]\n", "pyproject.toml has no table [tool.spanhook]; add it"),
    "a table that is none": ("pyproject.toml", "tool = 1\n", "pyproject.toml has no table [tool.spanhook]"),
    "no hooks": ("aegra.json", '{"graphs": {}}', 'aegra.json has no "hooks"; add'),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_read_is_refused_in_one_line(write: Write, case: str) -> None:
    name, text, message = WRONG[case]

    with pytest.raises(ConfigurationError) as caught:
        read(write(text, name))

    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_files_that_are_not_there_or_are_none(write: Write, tmp_path: Path) -> None:
    write("")
    with pytest.raises(ConfigurationError, match=r"configuration file 'nope.yaml' does not exist; correct the path"):
        read("nope.yaml")
    with pytest.raises(ConfigurationError, match=r"is a folder; name a file in it, such as .*/spanhook.yaml"):
        read(str(tmp_path))
    os.mkfifo(tmp_path / "pipe.yaml")
    with pytest.raises(ConfigurationError, match="is not a regular file, which can be read again; name one"):
        read("pipe.yaml")
    with pytest.raises(ConfigurationError, match="cannot be read: embedded null byte"):
        read("a\0b")
    (tmp_path / "large.yaml").write_bytes(b"#" * (LARGEST + 1))
    with pytest.raises(ConfigurationError, match=f"has more than {LARGEST} bytes"):
        read("large.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"a: 1\nb: \xe9\n")
    with pytest.raises(ConfigurationFileError, match=r"^latin.yaml:2: is not UTF-8; save the file as UTF-8$"):
        read("latin.yaml")


@pytest.mark.parametrize("module", ["yaml", "pydantic"])
def test_without_the_extra_the_error_names_it(write: Write, monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    path = write("version: 1")
    monkeypatch.setattr("spanhook.config.reading.find_spec", lambda name: None if name == module else object())

    with pytest.raises(ConfigurationError) as caught:
        read(path)

    assert str(caught.value) == (
        f'configuration files need {module}, which is not installed; pip install "spanhook[policies]"'
    )


def test_keys_are_written_as_one_reads_them() -> None:
    assert written(("policies", 0, "with", "rules", 12, "tools")) == "policies[0].with.rules[12].tools"
    assert written(()) == ""


@given(text=st.text(st.characters(codec="utf-8"), max_size=60))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None)
def test_whatever_stands_there_nothing_else_is_raised(write: Write, text: str) -> None:
    for name in ("spanhook.yaml", "spanhook.json", "spanhook.toml"):
        with suppress(ConfigurationError):
            read(write(text, name))
