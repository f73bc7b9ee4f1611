"""What a hook sees of one operation, and what it is made of. It knows no SDK and no registry."""

from spanhook.model._clock import clock
from spanhook.model._current import InHook, Within, current, current_operation, current_record
from spanhook.model._kinds import REPLACEABLE, REWRITABLE, add_kind, events, kinds, made
from spanhook.model.adapter import (
    OPERATION_NAMES,
    TARGET_KEYS,
    Adapter,
    Args,
    Attributes,
    Body,
    Chunks,
    Following,
    Kwargs,
    Withheld,
    first,
    with_first,
)
from spanhook.model.carried import Carried, carried_by, gated_by, note_gated, text_of
from spanhook.model.copying import alike, class_of, copied, copied_dataclass, copied_error, copied_model, copies
from spanhook.model.decision import DecisionRecord
from spanhook.model.encoding import encodable, make_encodable
from spanhook.model.event import Event
from spanhook.model.failures import (
    Said,
    added,
    described,
    disclosed,
    exception_name,
    raised_in,
    stack,
    without_words,
    words,
)
from spanhook.model.identity import NOBODY, Identity, ambient, context, from_baggage
from spanhook.model.operation import CALLING, FILTERING, RETURNED, TIMED_OUT, Operation, view_of
from spanhook.model.points import Outlet, Point, Signal
from spanhook.model.record import Record
from spanhook.model.request import Change, Message, Request, Response
from spanhook.model.tracebacks import asheds, frames, shed, sheds
from spanhook.model.usage import MOST_TOKENS, NANO, Leaves, Usage

__all__ = [
    "CALLING",
    "FILTERING",
    "MOST_TOKENS",
    "NANO",
    "NOBODY",
    "OPERATION_NAMES",
    "REPLACEABLE",
    "RETURNED",
    "REWRITABLE",
    "TARGET_KEYS",
    "TIMED_OUT",
    "Adapter",
    "Args",
    "Attributes",
    "Body",
    "Carried",
    "Change",
    "Chunks",
    "DecisionRecord",
    "Event",
    "Following",
    "Identity",
    "InHook",
    "Kwargs",
    "Leaves",
    "Message",
    "Operation",
    "Outlet",
    "Point",
    "Record",
    "Request",
    "Response",
    "Said",
    "Signal",
    "Usage",
    "Withheld",
    "Within",
    "add_kind",
    "added",
    "alike",
    "ambient",
    "asheds",
    "carried_by",
    "class_of",
    "clock",
    "context",
    "copied",
    "copied_dataclass",
    "copied_error",
    "copied_model",
    "copies",
    "current",
    "current_operation",
    "current_record",
    "described",
    "disclosed",
    "encodable",
    "events",
    "exception_name",
    "first",
    "frames",
    "from_baggage",
    "gated_by",
    "kinds",
    "made",
    "make_encodable",
    "note_gated",
    "raised_in",
    "shed",
    "sheds",
    "stack",
    "text_of",
    "view_of",
    "with_first",
    "without_words",
    "words",
]
