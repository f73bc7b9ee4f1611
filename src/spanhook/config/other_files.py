"""Files that are no configuration of hooks, such as the server's: read and checked in the same way."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from spanhook.config.reading import Document, read
from spanhook.errors import ConfigurationError

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError

    M = TypeVar("M", bound=BaseModel)
else:
    M = TypeVar("M")


def read_model(model: type[M], path: str | None, given: Mapping[str, Any], such_as: str) -> M:
    """What a file says, and what was given instead of that.

    Args:
        model: What it is read into.
        path: The file, in YAML, JSON or TOML by its suffix; it may be empty. ``None`` for none.
        given: Fields that stand above those of the file.
        such_as: Keys that it may have, for messages.

    Raises:
        ConfigurationError: The file cannot be read, or has mistakes: each is a line of the message.
    """
    from pydantic import ValidationError  # not among the core's dependencies

    document = None if path is None else read(path, such_as, may_be_empty=True)
    fields: Mapping[str, Any] = {} if document is None else document.data
    try:
        return model.model_validate({**fields, **given})
    except ValidationError as error:
        raise ConfigurationError("\n".join(_mistakes(document, error, model))) from None


def _mistakes(document: Document | None, error: "ValidationError", model: "type[BaseModel]") -> list[str]:
    """Each mistake with its line, in the order of the file."""
    from spanhook.config.complaints import complaints

    if document is not None:
        return [str(one) for one in sorted(complaints(document, error, model), key=lambda one: one.line)]
    found = complaints(Document("", {}, {}, b""), error, model)
    return [f"{one.key}: {one.message}".removeprefix(": ") for one in found]
