"""Jobs and schedules: how background runs end, how long they wait and take, and what becomes of ticks."""

from grafana.src import frame
from grafana.src.names import label
from grafana.src.panels import BAD, COUNT, GREEN, RED, YELLOW, Line, Panel, figure, graph
from grafana.src.queries import (
    AGENT,
    is_,
    is_not,
    or_zero,
    ours,
    per_minute,
    quantile,
    share_of_total,
    total,
)
from spanhook import semconv

JOBS = ours(semconv.METRIC_JOB_DURATION, AGENT, part="_count")
FAILED = ours(semconv.METRIC_JOB_DURATION, AGENT, is_(semconv.JOB_STATUS, "failed"), part="_count")
BEGUN = ours(semconv.METRIC_JOB_DURATION, AGENT, is_not(semconv.JOB_STATUS, "cancelled"), part="_bucket")
WAIT = ours(semconv.METRIC_JOB_WAIT, AGENT, part="_bucket")
TICKS = ours(semconv.METRIC_CRON_TICKS)
NOT_COMPLETED = ours(semconv.METRIC_CRON_TICKS, is_not(semconv.CRON_OUTCOME, "completed"))
NO_JOBS = "No job ended in this time, or the processes that run jobs export no metrics"
NO_TICKS = "No schedule ticked in this time, or the processes that run schedules export no metrics"
STATUS = f"{{{{{label(semconv.JOB_STATUS)}}}}}"
COLOURS = {"completed": GREEN, "failed": RED, "cancelled": "purple"}
OUTCOMES = {**COLOURS, "missed": YELLOW, "overlapping": "blue", "lost": "#808080"}


def _figures() -> list[Panel]:
    return [
        figure(
            "Jobs",
            "Background runs that ended in the time shown, in servers, workers and your own processes.",
            total(JOBS),
            unit=COUNT,
            empty="No job",
            width=6,
        ),
        figure(
            "Jobs that failed",
            "Share of jobs whose agent failed or was refused, or whose process died. Cancelled jobs do not count.",
            share_of_total(FAILED, JOBS),
            unit="percentunit",
            empty="No job",
            steps=((None, GREEN), (0.02, YELLOW), (0.1, RED)),
            width=6,
        ),
        figure(
            "Time jobs wait, p95",
            "From the request to the beginning. If it grows, allow more jobs at a time or start more workers.",
            quantile(0.95, WAIT, over="$__range"),
            unit="s",
            empty="No job",
            steps=((None, GREEN), (10, YELLOW), (60, RED)),
            width=6,
        ),
        figure(
            "Ticks not completed",
            "Ticks of schedules that failed, were cancelled, missed or lost, or were skipped because an earlier run "
            "was under way.",
            or_zero(total(NOT_COMPLETED)),
            unit=COUNT,
            empty="0",
            steps=BAD,
            width=6,
        ),
    ]


def row() -> frame.Row:
    """The row of them on the dashboard Agents."""
    return "Jobs and schedules", [
        *_figures(),
        graph(
            "Jobs by status",
            "Jobs that ended, per minute.",
            Line(per_minute(JOBS, semconv.JOB_STATUS), STATUS),
            unit="cpm",
            empty=NO_JOBS,
            stacked=True,
            colours=COLOURS,
        ),
        graph(
            "Duration of jobs by agent, p95",
            "From the beginning of a job to its end. Cancelled jobs do not count.",
            Line(quantile(0.95, BEGUN, semconv.GEN_AI_AGENT_NAME), f"{{{{{label(semconv.GEN_AI_AGENT_NAME)}}}}}"),
            unit="s",
            empty=NO_JOBS,
        ),
        graph(
            "Time jobs wait",
            "From the request to the beginning.",
            *(Line(quantile(of, WAIT), f"p{of * 100:.0f}") for of in (0.5, 0.95)),
            unit="s",
            empty=NO_JOBS,
        ),
        graph(
            "Ticks of schedules",
            "Per minute, by what became of them. missed: nothing was running when it was due; overlapping: an earlier "
            "run was under way; lost: the process that ran it died.",
            Line(per_minute(TICKS, semconv.CRON_OUTCOME), f"{{{{{label(semconv.CRON_OUTCOME)}}}}}"),
            unit="cpm",
            empty=NO_TICKS,
            stacked=True,
            colours=OUTCOMES,
        ),
    ]
