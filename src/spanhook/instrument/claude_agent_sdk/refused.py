"""A refusal on its way to the application, in the place of a message of the program."""

from typing import Any


class Refused(dict[str, Any]):
    """What the SDK's reader passes on as a message that it does not know.

    Args:
        error: What the application gets instead.
    """

    def __init__(self, error: BaseException) -> None:
        super().__init__(type="spanhook_refused")
        self.error = error
