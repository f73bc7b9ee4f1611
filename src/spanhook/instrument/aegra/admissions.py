"""Where what was decided about a run is kept until it has ended: in this process, or with the queue.

The key is made of the run's id, which Aegra makes itself; no request writes there.
"""

from contextlib import suppress

from aegra_api.core.redis_manager import redis_manager
from aegra_api.settings import settings
from redis import RedisError

from spanhook.diagnostics import log
from spanhook.model import Admission, Admissions, KeptAdmissions

_KEPT_S = 7 * 86400
_AWAY = (RedisError, OSError, RuntimeError)
"""What its client raises if the server is away; ``RuntimeError`` before Aegra has started it."""


class RedisAdmissions:
    """Admissions beside Aegra's queue. If the server is away, they are as good as not there: gates are asked again."""

    async def keep(self, admission: Admission) -> None:
        try:
            await redis_manager.get_client().set(_key(admission.run_id), admission.text(), ex=_KEPT_S)
        except _AWAY as error:
            log.warning("spanhook: what was decided about run %s is not kept: %s", admission.run_id, error)

    async def find(self, run_id: str) -> Admission | None:
        try:
            return Admission.of(await redis_manager.get_client().get(_key(run_id)))
        except _AWAY as error:
            log.warning("spanhook: what was decided about run %s is not known: %s", run_id, error)
            return None

    async def drop(self, run_id: str) -> None:
        with suppress(*_AWAY):  # it expires
            await redis_manager.get_client().delete(_key(run_id))


def _key(run_id: str) -> str:
    return f"spanhook:admission:{run_id}"


_LOCAL = KeptAdmissions()
_QUEUED = RedisAdmissions()


def admissions() -> Admissions:
    """Where they are kept now."""
    return _QUEUED if settings.redis.REDIS_BROKER_ENABLED else _LOCAL
