"""What a model call would cost, for hooks that decide before it is made."""

from spanhook.model import NANO, Usage
from spanhook.telemetry import prices


def estimated_cost(provider: str, model: str, input_tokens: int, output_tokens: int) -> float | None:
    """The price of a model call, by the price lists that spanhook counts costs with.

    Args:
        provider: The provider by its name in the conventions, such as ``openai``; may be empty.
        model: The model.
        input_tokens: Tokens of the prompt, none of them cached.
        output_tokens: Tokens of the answer.

    Returns:
        US dollars; ``None`` if the price is unknown, or ``genai-prices`` is not installed.
    """
    used = Usage(input_tokens, output_tokens)
    prices.price(used, provider, model)
    return None if used.cost_nano is None else used.cost_nano / NANO
