"""A hook that masks card numbers in the text of streams, and a text that has some."""

import re

from spanhook import Hook, Operation

SECRET = "4111-1111-1111-1111"
MASK = "[card]"
TEXT = f"The card {SECRET} is mine, and so is {SECRET}; it's all.\n"
CARD = re.compile(r"\d{4}-\d{4}-\d{4}-\d{4}")


class Masking(Hook):
    """Masks card numbers."""

    kinds = ("llm.call",)
    stream = "window"
    window = 24
    fail_mode = "closed"
    timeout = 60.0

    def text(self, op: Operation, text: str) -> str:
        return CARD.sub(MASK, text)

    def after(self, op: Operation) -> None:
        if SECRET in repr(op.response.messages):
            op.respond(CARD.sub(MASK, op.response.text))


def pieces(text: str, cuts: list[int]) -> tuple[str, ...]:
    places = sorted({cut for cut in cuts if 0 < cut < len(text)})
    return tuple(text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True))
