"""What may be set, and what is refused of it."""

from typing import Any

import pytest

from spanhook import ConfigurationError, Settings


@pytest.mark.parametrize("mode", ["ENFORCE", "dry", ""])
def test_a_mode_that_is_none(mode: Any) -> None:
    with pytest.raises(ConfigurationError, match="expected one of enforce, shadow, off"):
        Settings(mode=mode)
