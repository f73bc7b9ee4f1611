import json
from typing import get_args

import pytest

from spanhook.server.problems import STATUS, Code, Mistake, Problem, documented


@pytest.mark.parametrize("code", get_args(Code))
def test_every_code_has_a_status_and_is_documented(code: Code) -> None:
    problem = Problem(code, "why", errors=[Mistake(place="body.x", message="wrong")])
    response = problem.response()
    assert response.status_code == STATUS[code]
    assert response.media_type == "application/problem+json"
    told = json.loads(bytes(response.body))
    assert (told["type"], told["code"], told["status"]) == (f"urn:spanhook:problem:{code}", code, STATUS[code])
    assert told["errors"] == [{"place": "body.x", "message": "wrong"}]
    assert f"`{code}`" in documented(code)[STATUS[code]]["description"]


def test_codes_of_one_status_are_documented_together() -> None:
    assert documented("scope_missing", "cross_site")[403]["description"] == "`scope_missing`, `cross_site`"


def test_who_is_not_known_is_told_how_to_say_it() -> None:
    assert Problem("credentials_missing", "why").headers["WWW-Authenticate"] == "Bearer"
