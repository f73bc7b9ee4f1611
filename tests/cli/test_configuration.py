"""``spanhook config``: what is wrong in a file, what would be in force and from where, and the schema."""

import json
from pathlib import Path

import pytest

from spanhook.config import schema
from tests.commands import HOOKS, Folder
from tests.rules import install

FILE = """
version: 1
mode: shadow
hooks: {path: ./hooks.py:hooks}
settings:
  steps: true
  chain_timeout_ms: 250
policies:
  - use: deny
    id: payments
    with: {rules: [{tools: [refund]}]}
"""

WRONG = """
version: 1
mode: of
policies:
  - use: dney
    id: payments
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    monkeypatch.syspath_prepend(install(tmp_path / "installed"))
    folder = Folder(tmp_path).write(hooks=HOOKS)
    folder.file("spanhook.yaml", FILE)
    return folder


def test_check_prints_every_mistake_with_its_line(folder: Folder) -> None:
    folder.file("wrong.yaml", WRONG)

    ran = folder.here("config", "check", "wrong.yaml")

    assert ran.returncode == 2
    first, second = ran.stdout.splitlines()
    assert first == "wrong.yaml:2: mode: 'of': expected 'enforce', 'shadow' or 'off'"
    assert second.startswith("wrong.yaml:4: policies[0].use: there is no hook 'dney' (did you mean 'deny'?); expected")
    assert ran.stderr == ""


def test_check_takes_the_file_of_the_folder(folder: Folder) -> None:
    ran = folder.here("config", "check")

    assert (ran.returncode, ran.stdout) == (0, "spanhook.yaml: no mistakes\n")


def test_check_notes_that_there_is_no_end_mark(folder: Folder) -> None:
    ran = folder.here("config", "check", "spanhook.yaml")
    note = "the end mark is missing; add the line ..., so that a file cut short is noticed"
    assert ran.stderr == f"spanhook.yaml: note: {note}\n"

    folder.file("spanhook.yaml", FILE + "...\n")
    assert folder.here("config", "check", "spanhook.yaml").stderr == ""
    folder.file("spanhook.toml", "version = 1\n")
    assert folder.here("config", "check", "spanhook.toml").stderr == ""


def test_init_writes_a_file_that_is_whole_and_never_over_another(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    assert folder.here("config", "init").stdout == "spanhook.yaml: written\n"
    text = (tmp_path / "spanhook.yaml").read_text()
    assert text.endswith("\n...\n")
    ran = folder.here("config", "check", "spanhook.yaml")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "spanhook.yaml: no mistakes\n", "")

    again = folder.here("config", "init")
    assert again.returncode == 2
    assert "spanhook.yaml is there already" in again.stderr
    assert (tmp_path / "spanhook.yaml").read_text() == text
    assert "expected a name such as spanhook.yaml" in folder.here("config", "init", "spanhook.toml").stderr
    assert "nowhere/a.yaml cannot be written" in folder.here("config", "init", "nowhere/a.yaml").stderr


def test_what_init_writes_as_an_example_can_be_used(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.here("config", "init")
    path = tmp_path / "spanhook.yaml"
    path.write_text(path.read_text().replace("policies: []", "policies:").replace("#  ", "  "))
    assert folder.here("config", "check", "spanhook.yaml").returncode == 0
    assert '"tools"' in folder.here("config", "show", "--json").stdout


def test_check_reads_the_definitions_without_their_handlers(folder: Folder) -> None:
    folder.file("spanhook.yaml", "settings: {definitions_dir: definitions}")
    folder.file("definitions/one.yaml", "{name: one, event_type: tool.execute.pre, handler_ref: 'not_installed:One'}")

    assert folder.here("config", "check", "spanhook.yaml").stdout == "spanhook.yaml: no mistakes\n"

    folder.file("definitions/one.yaml", "{name: one, event_type: tool.execute.pre}")

    ran = folder.here("config", "check", "spanhook.yaml")
    assert ran.returncode == 2
    assert ran.stdout.startswith("spanhook.yaml:1: settings.definitions_dir: ")
    assert ran.stdout.endswith("one.yaml: handler_ref: Field required\n")


def test_check_as_json(folder: Folder) -> None:
    folder.file("wrong.yaml", WRONG)

    ran = folder.here("config", "check", "--json", "wrong.yaml")

    assert ran.returncode == 2
    told = json.loads(ran.stdout)
    assert told["mistakes"][0] == {
        "file": "wrong.yaml",
        "line": 2,
        "key": "mode",
        "message": "'of': expected 'enforce', 'shadow' or 'off'",
    }
    assert json.loads(folder.here("config", "check", "--json", "spanhook.yaml").stdout) == {
        "file": "spanhook.yaml",
        "mistakes": [],
    }


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "the configuration file 'nope.yaml' does not exist; correct the path\n"),
        ("a: [", "nope.yaml:1: is not valid YAML: "),
        (
            "version: 1\nhooks:\n  path: ./gone.py:hooks\n",
            "nope.yaml:3: hooks.path: 'gone.py:hooks': the file gone.py does not exist; correct the path\n",
        ),
        (
            "settings: {mode: shadow}",
            "nope.yaml:1: settings.mode: unknown key; it is not a setting: write it at the top level of the file\n",
        ),
        (
            "settings:\n  definitions_dir: gone\n",
            "nope.yaml:2: settings.definitions_dir: hook definitions: the directory 'gone' does not exist",
        ),
    ],
)
def test_check_of_a_file_that_cannot_be_read(folder: Folder, text: str | None, told: str) -> None:
    if text is not None:
        folder.file("nope.yaml", text)

    ran = folder.here("config", "check", "nope.yaml")

    assert (ran.returncode, ran.stderr) == (2, "")
    assert ran.stdout.startswith(told)


def test_check_without_a_file(tmp_path: Path) -> None:
    ran = Folder(tmp_path).here("config", "check")

    assert (ran.returncode, ran.stdout) == (2, "there is no spanhook.yaml in the working directory; name a file\n")


def test_check_names_functions_that_do_not_exist(folder: Folder) -> None:
    (folder.path / "shop").mkdir()
    folder.file("shop/__init__.py", "raise SystemExit(7)")
    folder.file("shop/till.py", "def charge(): ...\n\n\nclass Till:\n    def open(self): ...\n")
    tools = '["shop.till:charge", "shop.till:chrage", "shop.till:Till.opne", "shop.tlil:charge", "elsewhere.x:charge"]'
    folder.file("spanhook.yaml", f"bind:\n  tools: {tools}\nmode: of\n...\n")

    ran = folder.here("config", "check")

    elsewhere = "if the application finds it elsewhere, set PYTHONPATH"
    assert ran.returncode == 2
    assert ran.stdout.splitlines() == [
        "spanhook.yaml:2: bind.tools[1]: shop.till:chrage: shop.till has no chrage",
        "spanhook.yaml:2: bind.tools[2]: shop.till:Till.opne: Till of shop.till has no opne",
        f"spanhook.yaml:2: bind.tools[3]: shop.tlil:charge: the module shop.tlil does not exist; {elsewhere}",
        "spanhook.yaml:3: mode: 'of': expected 'enforce', 'shadow' or 'off'",
    ]
    note = "functions under bind were not checked, since their packages are not here: elsewhere"
    assert ran.stderr == f"spanhook.yaml: note: {note}\n"


def test_check_does_not_load_hooks(folder: Folder) -> None:
    folder.write(hooks="raise SystemExit(7)")

    assert folder.here("config", "check").returncode == 0


def test_schema(folder: Folder) -> None:
    ran = folder.here("config", "schema")

    assert ran.returncode == 0
    assert json.loads(ran.stdout) == schema()


def test_show_says_where_each_part_comes_from(folder: Folder) -> None:
    ran = folder.here("config", "show", "--mode", "enforce", SPANHOOK_CHAIN_TIMEOUT_MS="100")

    assert ran.returncode == 0, ran.stderr
    lines = [line.split() for line in ran.stdout.splitlines()]
    assert lines[:2] == [["file"], ["spanhook.yaml", "working", "directory"]]
    for line in (
        ["mode", "enforce", "--mode"],
        ["steps", "true", "spanhook.yaml:5"],
        ["chain_timeout_ms", "100.0", "SPANHOOK_CHAIN_TIMEOUT_MS"],
        ["strict", "false", "default"],
        ["content", "NO_CONTENT", "default"],
        [f"{folder.path}/hooks.py:hooks", "spanhook.yaml:3"],
        ["payments", "deny", "spanhook.yaml:8"],
    ):
        assert line in lines


def test_show_as_json(folder: Folder) -> None:
    ran = folder.here(
        "config", "show", "--json", "--config", "spanhook.yaml", "--hooks", "other.py:hooks", SPANHOOK_MODE="off"
    )

    told = json.loads(ran.stdout)
    assert told["file"] == [{"name": "spanhook.yaml", "value": "", "origin": "--config"}]
    assert {"name": "mode", "value": "off", "origin": "SPANHOOK_MODE"} in told["settings"]
    assert told["hooks"] == [{"name": f"{folder.path}/other.py:hooks", "value": "", "origin": "--hooks"}]
    assert told["policies"] == [{"name": "payments", "value": "deny", "origin": "spanhook.yaml:8"}]


def test_show_without_a_file(tmp_path: Path) -> None:
    ran = Folder(tmp_path).here("config", "show", OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT="span_only")

    assert ran.returncode == 0
    lines = [line.split() for line in ran.stdout.splitlines()]
    assert lines[0] == ["file", "none"]
    assert ["content", "SPAN_ONLY", "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] in lines
    assert lines[-3:] == [["hooks", "none"], ["stores", "none"], ["policies", "none"]]


def test_show_has_no_password_of_a_store(folder: Folder) -> None:
    folder.file("stores.yaml", "stores:\n  counters: {url_env: REDIS_URL}\n  default: sqlite:///a.db\n")
    ran = folder.here("config", "show", "--config", "stores.yaml", REDIS_URL="rediss://someone:secret@h:6380/1")

    assert "secret" not in ran.stdout
    lines = [line.split() for line in ran.stdout.splitlines()]
    assert ["counters", "rediss://h:6380/1", "stores.yaml:2"] in lines
    assert ["default", f"sqlite:///{folder.path}/a.db", "stores.yaml:3"] in lines


def test_show_ends_with_2_where_run_would(folder: Folder) -> None:
    folder.file("spanhook.yaml", WRONG)

    ran = folder.here("config", "show")

    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("spanhook: spanhook.yaml:2: mode: 'of'")


def test_an_empty_name_means_no_file(folder: Folder) -> None:
    ran = folder.here("config", "show", "--json", SPANHOOK_CONFIG="")
    assert json.loads(ran.stdout)["file"] == []
    ran = folder.here("config", "show", "--json", "--config", "", SPANHOOK_CONFIG="nope.yaml")
    assert json.loads(ran.stdout)["file"] == []


def test_the_doctor_reports_every_mistake_and_what_the_file_puts_in_force(folder: Folder) -> None:
    ran = folder.here("doctor", "--json")
    told = json.loads(ran.stdout)
    assert told["mode"] == "shadow"
    assert {hook["name"] for hook in told["hooks"]} >= {"payments", "no_refunds"}

    folder.file("spanhook.yaml", WRONG)
    ran = folder.here("doctor", "--json")
    assert ran.returncode == 2
    texts = [finding["text"] for finding in json.loads(ran.stdout)["findings"] if finding["level"] == "configuration"]
    assert [text.split(": ")[:2] for text in texts] == [
        ["spanhook.yaml:2", "mode"],
        ["spanhook.yaml:4", "policies[0].use"],
    ]
