"""Usage that servers report: no part of it is larger than its whole, whatever they say."""

from hypothesis import given
from hypothesis import strategies as st

from spanhook.instrument.wire.usage import bounded
from spanhook.model import Usage

COUNTS = st.integers(0, 9)


@given(whole=COUNTS, read=COUNTS, written=COUNTS, hour=COUNTS, said=COUNTS, thought=COUNTS)
def test_parts_of_usage_fit_into_their_wholes(
    whole: int, read: int, written: int, hour: int, said: int, thought: int
) -> None:
    used = Usage(whole, said, cache_read_tokens=read, cache_write_tokens=written, reasoning_tokens=thought)
    used.cache_hour_tokens = hour
    bounded(used)
    assert (used.input_tokens, used.output_tokens) == (whole, said)
    assert used.cache_read_tokens == min(read, whole)
    assert used.cache_write_tokens == min(written, whole - used.cache_read_tokens)
    assert used.cache_hour_tokens == min(hour, used.cache_write_tokens)
    assert used.reasoning_tokens == min(thought, said)
