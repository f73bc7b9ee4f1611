import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanhook.jobs import FINAL, STATUSES, Job, Transition, TransitionError, moved

CHANGES = st.builds(
    Transition,
    st.sampled_from(STATUSES),
    st.integers(0, 20),
    st.sampled_from(("", "w", "x")),
    st.sampled_from((None, "w", "x")),
    st.integers(0, 20),
    st.just({}),
    st.booleans(),
)


@given(st.lists(CHANGES, max_size=30))
def test_whatever_is_tried_a_job_ends_once_and_stays_so(changes: list[Transition]) -> None:
    job = Job(job_id="job_0", agent="a", worker="w")
    seen = [job.status]
    for change in changes:
        with contextlib.suppress(TransitionError):
            after = moved(job, change)
            assert not job.finished
            assert after.status == change.to
            assert after.status != job.status or after.status == "queued"
            assert (after.ended_ns == change.at_ns) == after.finished or not after.finished
            job = after
            seen.append(job.status)
    assert [one for one in seen[:-1] if one in FINAL] == []
    assert job.attempts == seen.count("running")
    assert Job.of(job.as_dict()) == job


def test_what_is_no_job_is_refused() -> None:
    for fields in ({}, {"job_id": "x"}, {"job_id": "x", "agent": "a", "status": "lost"}):
        with pytest.raises(ValueError, match="not a job"):
            Job.of(fields)
