"""What forms send."""

from collections.abc import Mapping
from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import Depends, Request
from pydantic import ValidationError

from spanhook.server._requests import has
from spanhook.server.pages import tokens
from spanhook.server.problems import Problem

_MOST_FIELDS = 1000
Fields = Mapping[str, str]


async def fields_of(request: Request) -> Fields:
    """The fields of a form, which must be one of our own pages. The last of several with one name counts.

    Programs that authenticate themselves need no token: a browser never does so on its own.

    Raises:
        Problem: It is another's, or cannot be read.
    """
    body = await request.body()
    try:
        pairs = parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict")
    except ValueError:
        raise Problem("malformed_request", "the form cannot be read") from None
    fields = {name: value.replace("\r\n", "\n") for name, value in pairs}
    if not has(request.scope, "authorization") and not tokens.holds(request.scope, fields.get(tokens.FIELD, "")):
        raise Problem("cross_site", "the form is out of date; load the page again, and send it once more")
    return fields


def lines_in(text: str) -> list[str]:
    """What stands on the lines of a text, without those that are empty."""
    return [line.strip() for line in text.split("\n") if line.strip()]


def invalid(error: ValidationError) -> Problem:
    """What is wrong about the fields of a form."""
    said = (
        f"{'.'.join(map(str, one['loc']))}: {one['msg'].removeprefix('Value error, ')}"
        for one in error.errors(include_url=False, include_context=False, include_input=False)
    )
    return Problem("invalid", "; ".join(said))


Form = Annotated[Fields, Depends(fields_of)]
