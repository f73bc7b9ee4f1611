from pathlib import Path

import pytest
from pydantic import BaseModel, Field, model_validator

from spanhook.config import read_model
from spanhook.errors import ConfigurationError


class Inner(BaseModel, extra="forbid"):
    days: int = Field(default=1, ge=0)


class Whole(BaseModel, extra="forbid"):
    port: int = 1
    kept: Inner = Inner()

    @model_validator(mode="after")
    def _fits(self) -> "Whole":
        if self.port == self.kept.days:
            raise ValueError("port and kept.days are the same")
        return self


def said(path: Path | None, **given: object) -> list[str]:
    with pytest.raises(ConfigurationError) as raised:
        read_model(Whole, None if path is None else str(path), given, "port: 8321")
    return str(raised.value).splitlines()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("server.yaml", "kept:\n  days: 5\nport: 2\n"),
        ("server.json", '{"kept": {"days": 5}, "port": 2}'),
        ("server.toml", "port = 2\n[kept]\ndays = 5\n"),
    ],
)
def test_what_is_given_stands_above_the_file(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    path = str(tmp_path / name)
    assert read_model(Whole, path, {}, "port: 1") == Whole(port=2, kept=Inner(days=5))
    assert read_model(Whole, path, {"port": 3}, "port: 1") == Whole(port=3, kept=Inner(days=5))


def test_every_mistake_has_its_line_in_the_order_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "server.yaml"
    file.write_text("ports: 1\nkept:\n  days: -1\nport: x\n")
    assert said(file) == [
        "server.yaml:1: ports: unknown key; did you mean 'port'?",
        "server.yaml:3: kept.days: -1: expected a number greater than or equal to 0",
        "server.yaml:4: port: 'x': expected a whole number",
    ]


def test_a_mistake_of_several_keys_is_told_without_all_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "server.yaml"
    file.write_text("port: 5\nkept: {days: 5}\n")
    assert said(file)[0].endswith("server.yaml:1: port and kept.days are the same")


def test_a_file_may_be_empty_and_there_may_be_none(tmp_path: Path) -> None:
    file = tmp_path / "server.yaml"
    file.write_text("# port: 8321\n")
    with pytest.raises(ConfigurationError, match="the same"):
        read_model(Whole, str(file), {}, "port: 1")
    assert read_model(Whole, str(file), {"port": 2}, "port: 1") == read_model(Whole, None, {"port": 2}, "port: 1")
    assert said(None, port="x") == ["port: 'x': expected a whole number"]
