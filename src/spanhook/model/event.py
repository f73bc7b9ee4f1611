"""An operation as it was at one moment: what a subscription is given, which hears of it later."""

from typing import Any, Literal

from spanhook.model.adapter import Args, Kwargs
from spanhook.model.copying import held
from spanhook.model.operation import WATCHING, Operation
from spanhook.model.record import Record
from spanhook.semconv import Phase, Status


class Event(Operation):
    """An operation as it was at one moment, for a subscription that hears of it later."""

    _status: Status | Literal[""] = ""
    _ended: tuple[Any, BaseException | None] = None, None

    def __init__(self, record: Record, phase: Phase) -> None:
        super().__init__(record)
        self._locked = WATCHING
        self._phase: Phase = phase
        kwargs = record.kwargs
        self._held = held(record.args), held(kwargs) if kwargs else kwargs
        if phase != "pre":
            self._status, self._ended = record.status, (held(record.result), record.error)

    @property
    def phase(self) -> Phase:
        return self._phase

    @property
    def status(self) -> Status | Literal[""]:
        return self._status

    def _call(self) -> tuple[Args, Kwargs]:
        return self._held

    def _outcome(self) -> tuple[Any, BaseException | None]:
        return self._ended
