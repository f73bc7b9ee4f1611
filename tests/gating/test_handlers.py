"""Ready-made hooks: how a class is marked, found by name, and made a hook of settings; each mistake names its key."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, field_validator

from spanhook import ConfigurationError, Hook, Hooks, Operation
from spanhook.gating import find, handler, handler_of, make, named

Install = Callable[[str, str], None]


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid")
    size: int = 1


@handler
class Limit(Hook):
    """Takes settings by a model inside it."""

    kinds = ("tool.execute",)
    priority = 50

    class Config(BaseModel):
        most: int = Field(ge=1)
        words: list[str] = []
        part: Part = Part()

        @field_validator("words")
        @classmethod
        def _clean(cls, words: list[str]) -> list[str]:
            if "bad" in words:
                raise ValueError("it says 'bad'")
            return words

    def __init__(self, most: int, words: list[str], part: Part) -> None:
        self.most, self.words, self.part = most, words, part

    def before(self, op: Operation) -> None: ...


@handler
class Bare(Hook):
    """Takes none."""

    def before(self, op: Operation) -> None: ...


def test_a_config_is_validated_and_its_fields_are_keyword_arguments() -> None:
    hook = make(Limit, {"most": "3", "part": {"size": 2}})

    assert isinstance(hook, Limit)
    assert (hook.most, hook.words, hook.part) == (3, [], Part(size=2))
    assert (hook.kinds, hook.priority) == (("tool.execute",), 50)


def test_settings_of_every_hook_are_set_where_given() -> None:
    hook = make(
        Limit, {"most": 1}, name="mine", priority=7, names={"search"}, kinds=("llm.call",), when=lambda op: True
    )

    (bound,) = Hooks(hook).bound
    assert (bound.name, bound.priority, bound.kinds, bound.names) == ("mine", 7, {"llm.call"}, {"search"})
    assert bound.when is not None
    assert Limit.priority == 50  # the class is as it was
    assert make(Limit, {"most": 1}).priority == 50


def test_iterators_are_kept() -> None:
    hook = make(Bare, names=iter(["a", "b"]), kinds=iter(["tool.execute"]))

    for _ in range(2):
        (bound,) = Hooks(hook).bound
        assert (bound.names, bound.kinds) == ({"a", "b"}, {"tool.execute"})


def test_a_model_beside_the_class() -> None:
    class Settings(BaseModel):
        model_config = ConfigDict(extra="allow")
        depth: int = 3

    @handler(Settings)
    class Beside(Hook):
        def __init__(self, depth: int, **more: Any) -> None:
            self.given = depth, more

        def before(self, op: Operation) -> None: ...

    made = make(Beside, {"else": 1})

    assert isinstance(made, Beside)
    assert made.given == (3, {"else": 1})  # the model says itself that it takes anything
    marked = handler_of(Beside)
    assert marked is not None
    assert (marked.cls, marked.config) == (Beside, Settings)


def test_a_subclass_is_not_marked_along() -> None:
    class Narrower(Limit): ...

    assert handler_of(Limit) is not None
    assert handler_of(Narrower) is None
    assert handler_of(Limit(1, [], Part())) is None
    with pytest.raises(ConfigurationError, match="not marked as a hook that may be named; decorate the class"):
        make(Narrower, {"most": 1})


def test_a_class_that_is_no_hook_may_be_marked_and_built() -> None:
    @handler
    class Middleware:
        async def execute(self, ctx: Any, call_next: Any) -> Any: ...

    marked = handler_of(Middleware)
    assert marked is not None
    assert isinstance(marked.build({}), Middleware)
    with pytest.raises(ConfigurationError, match=r"makes no spanhook\.Hook; subclass Hook"):
        make(Middleware)


WRONG: dict[str, tuple[Any, str]] = {
    "missing": ({}, "hook 'Limit': most is missing"),
    "unknown": (
        {"most": 1, "word": []},
        "hook 'Limit': unknown setting word=[] (did you mean 'words'?); expected one of most, words, part",
    ),
    "type": ({"most": "many"}, "hook 'Limit': most='many': expected a whole number"),
    "range": ({"most": 0}, "most=0: expected greater than or equal to 1"),
    "inner": ({"most": 1, "part": {"size": []}}, "part.size=[]: expected a whole number"),
    "inner unknown": ({"most": 1, "part": {"sise": 1}}, "unknown setting part.sise=1"),
    "item": ({"most": 1, "words": ["a", 7]}, "words.1=7: expected text"),
    "own check": ({"most": 1, "words": ["bad"]}, "words=['bad']: it says 'bad'"),
    "several": ({"most": 0, "wrods": 1}, "; unknown setting wrods=1"),
    "long": ({"most": "x" * 500}, "xxx...: expected a whole number"),
    "no mapping": ([1], "its settings are [1], expected a mapping"),
    "key of another type": ({"most": 1, 7: 1}, "7"),
}


@pytest.mark.parametrize("name", WRONG)
def test_each_mistake_names_its_key(name: str) -> None:
    config, expected = WRONG[name]
    with pytest.raises(ConfigurationError) as caught:
        make(Limit, config)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_hook_without_config_takes_no_settings() -> None:
    with pytest.raises(ConfigurationError, match="hook 'Bare' takes no settings, but was given 'most'"):
        make(Bare, {"most": 1})


def test_unknown_settings_of_hooks_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="unknown hook setting prio=1"):
        make(Bare, prio=1)


def test_what_the_constructor_refuses_is_a_mistake_of_configuration() -> None:
    @handler
    class Picky(Hook):
        class Config(BaseModel):
            left: int

        def __init__(self, left: int) -> None:
            raise RuntimeError(f"no\n{left}")

    with pytest.raises(ConfigurationError, match="hook 'Picky' cannot be made: no 1"):
        make(Picky, {"left": 1})


def test_values_are_not_shown_where_the_model_hides_them() -> None:
    @handler
    class Secretive(Hook):
        class Config(BaseModel):
            model_config = ConfigDict(hide_input_in_errors=True)
            key: int

        def __init__(self, key: int) -> None: ...

    with pytest.raises(ConfigurationError) as caught:
        make(Secretive, {"key": "s3cret"})
    assert "s3cret" not in str(caught.value)
    assert "key: expected" in str(caught.value)


def test_marking_what_cannot_be_made_is_refused() -> None:
    class Config(BaseModel):
        size: int

    with pytest.raises(ConfigurationError, match=r"does not fit the fields of its Config: .*'size'"):
        handler(Config)(Bare)
    with pytest.raises(ConfigurationError, match=r"does not fit the fields of its Config: .*'most'"):
        handler(Config)(type("Fresh", (Limit,), {}))
    with pytest.raises(ConfigurationError, match="expected a pydantic model"):
        handler(type("Fresh", (Hook,), {"Config": int}))
    with pytest.raises(ConfigurationError, match="marks classes, and 7 is none"):
        handler(7)  # pyright: ignore[reportCallIssue, reportArgumentType]
    assert handler_of(Bare) is not None
    assert make(Bare).name == ""  # still marked as before


# ------------------------------------------------------------------------------------------- found by name


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Put distributions into folders of ``sys.path``; each names hooks."""

    def install(distribution: str, entries: str) -> None:
        folder = tmp_path / distribution / f"{distribution}-1.0.dist-info"
        folder.mkdir(parents=True)
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
        (folder / "entry_points.txt").write_text(f"[spanhook_hook]\n{entries}\n")
        monkeypatch.syspath_prepend(folder.parent)

    return install


def test_a_hook_is_found_by_its_short_name(installed: Install) -> None:
    installed("acme", f"acme_limit = {__name__}:Limit")

    assert find("acme_limit") is Limit
    assert named()["acme_limit"] == f"{__name__}:Limit"


def test_an_unknown_name_says_which_there_are(installed: Install) -> None:
    installed("acme", f"acme_limit = {__name__}:Limit")

    with pytest.raises(
        ConfigurationError, match=r"no hook 'acme_limits' \(did you mean 'acme_limit'\?\); expected one"
    ):
        find("acme_limits")


def test_a_hook_that_cannot_be_imported_is_named(installed: Install) -> None:
    installed("acme", f"acme_gone = acme_gone.hooks:Gone\nacme_plain = {__name__}:Part\nacme_none = {__name__}:Nobody")

    with pytest.raises(
        ConfigurationError, match=r"hook 'acme_gone' \(acme_gone.hooks:Gone\) cannot be imported: No mod"
    ):
        find("acme_gone")
    with pytest.raises(ConfigurationError, match=r"hook 'acme_none' .* cannot be imported: .*'Nobody'"):
        find("acme_none")
    with pytest.raises(ConfigurationError, match=r"hook 'acme_plain' .* is not marked; decorate the class with @handl"):
        find("acme_plain")


def test_one_name_for_two_hooks_is_refused(installed: Install) -> None:
    installed("acme", f"acme_limit = {__name__}:Limit")
    installed("acme-too", f"acme_limit = {__name__}:Limit")
    assert find("acme_limit") is Limit  # the same, told twice

    installed("other", f"acme_limit = {__name__}:Bare")
    with pytest.raises(ConfigurationError, match="two installed distributions have a hook 'acme_limit'"):
        find("acme_limit")
