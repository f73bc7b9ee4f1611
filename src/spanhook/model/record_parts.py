"""Parts of a record that few operations have: each is made by who first writes it, with ``Record.part``.

Until then its place is taken by an object that says that there is nothing. Several threads may work on one operation,
so a part is put into its place by one atomic step, and all of them get the same.
"""

import weakref
from array import array
from typing import Any, ClassVar, Literal, TypeVar

from spanhook import semconv
from spanhook.model.arguments import Args, Attributes, Kwargs
from spanhook.model.decision import DecisionRecord
from spanhook.model.layer_count import LayerCount
from spanhook.model.streaming import Withheld
from spanhook.model.usage import Usage


class RecordPart:
    """What a record keeps of one matter.

    Attributes:
        name: The record's attribute with this part.
    """

    name: ClassVar[str]


P = TypeVar("P", bound=RecordPart)


class HookDecisions(RecordPart):
    """What hooks have decided about an operation.

    | attribute | who writes it | when |
    |---|---|---|
    | ``records``: every decision | the code that runs hooks | as each decides |
    | ``refused``: a hook refused this operation itself | the same, the gates | before or after the call |
    | ``answered``, ``answer``: a hook answered in the call's place; the answer as it gave it | the same | before |
    | ``answerer``: that hook, for a block that may not use the answer | the same | before |
    | ``modified``: the fields of the call that hooks have changed | ``Record.rewrite`` | before the call |
    | ``replaced``: hooks have replaced its result | the same, the completion | after the call |
    """

    name = "decided"
    records: tuple[DecisionRecord, ...] = ()
    refused = False
    answered = False
    answer: Any = None
    answerer: Any = None
    modified: tuple[str, ...] = ()
    replaced = False


class RunState:
    """What is known of a whole run: made with its root, and shared by all operations inside it.

    | attribute | who writes it | when |
    |---|---|---|
    | ``stop``: why the run is stopped | the code that runs hooks | when a hook stops it |
    | ``decisions``: what hooks have decided in it | the end of each operation | once |
    | ``pending``: operations that the reaper may have to end before the run is reported | streams | as they begin |
    """

    stop: Any = None
    decisions: list[semconv.Decision] | tuple[()] = ()
    pending: "set[Any] | tuple[()]" = ()


class Shared(RecordPart):
    """What those who look at an operation share.

    | attribute | who writes it | when |
    |---|---|---|
    | ``state``: the dict of its hooks | the first hook that asks for it | |
    | ``view``: the read-only view, while somebody holds it | the first to make one | |
    | ``call``: its arguments, and their copies for events | the first event | |
    | ``epoch_ns``: what its times are counted from, in nanoseconds since the epoch | the first to ask | |
    """

    name = "shared"
    state: dict[str, Any] | None = None
    view: weakref.ref[Any] | None = None
    call: tuple[Args, Kwargs, Args, Kwargs] | None = None
    epoch_ns: int | None = None


class EndDetails(RecordPart):
    """How an operation ended, beside its result or error; most need none of it.

    | attribute | who writes it | when |
    |---|---|---|
    | ``left``: how it ended without a result, if the library or the consumer says so | these | at its end |
    | ``handled``: what the call failed with, if the library has made a result of that | the library | in the call |
    | ``fault``: why a result is an error although nothing was raised | the completion | after the call |
    | ``raw``: what a tool returned before the framework made a message of it | the library | in the call |
    | ``listener_error``: what a listener of the library raised at a hook's answer | the announcement | before the end |
    | ``unawaited``: the rest of it runs in code that cannot await, though it began in a coroutine | the end | |
    | ``needs_encoding``: its attributes have values that the SDK does not accept | who sets them | before its report |
    | ``events``: what the library reports for its span: name, attributes, time since the epoch | ``Record.note`` | |
    """

    name = "ending"
    left: Literal["", "interrupted", "abandoned", "cancelled"] = ""
    handled: BaseException | None = None
    fault = ""
    raw: Any = None
    listener_error: Exception | None = None
    unawaited = False
    needs_encoding = False
    events: list[tuple[str, Attributes, int]] | tuple[()] = ()


class Deferred(RecordPart):
    """Output through channels other than the result, such as callbacks.

    | attribute | who writes it | when |
    |---|---|---|
    | ``outputs``: what is held until hooks have decided | the library, the call | as it comes |
    | ``leaked``: some of it could not be held | the library | as it comes |
    """

    name = "deferred"
    outputs: tuple[Withheld, ...] = ()
    leaked = False


class StreamState(RecordPart):
    """What has become of a result that is a stream.

    | attribute | who writes it | when |
    |---|---|---|
    | ``asked_ns``: when the gates let the call pass | the gates | before the call |
    | ``streamed``: hooks may decide about its chunks | the track of the stream | when the call has returned |
    | ``buffered``: it is held back until hooks have seen all of it | the track | with the first chunk, or at its end |
    | ``first_chunk_ns``, ``later_chunks_ns``: when chunks came; later ones if recorded | the reading | per chunk |
    | ``windowed``: a stream inside it shows hooks its text first; false if nobody wants to see it | that | per chunk |
    | ``reworded``: hooks have rewritten text of it | the window | per chunk |
    | ``answered``: the stream of a hook's answer, and what it adds up to | its first reader | after the call |
    | ``mark``: the id of its content, which shows whether a result belongs to another call | the reading | at its end |

    Times are in nanoseconds on the monotonic clock, 0 before.
    """

    name = "stream"
    asked_ns = 0
    streamed = False
    buffered = False
    first_chunk_ns = 0
    later_chunks_ns: "array[int] | None" = None
    windowed: bool | None = None
    reworded = False
    answered: tuple[Any, Any] | None = None
    mark: Any = None


class InnerCalls(RecordPart):
    """What is known of calls inside an operation that are part of it; see ``spanhook.engine.absorption``.

    | attribute | who writes it | when |
    |---|---|---|
    | ``carried``: what the transport is still expected to carry, by layer | absorption | when a call begins or fails |
    | ``carrier``: the client whose calls carry what cannot be read | absorption | when its first call begins |
    | ``attributes``: the transport's description of the call: server and parameters | absorption | when it begins |
    | ``spans``: how many spans of other instrumentations are still expected, by scope | absorption | as they open |
    | ``transported``: the transport has answered | absorption | when it has |
    | ``layer_counts``: what the layers report; ``None`` once counted | absorption, accounting | at their ends |
    | ``span_usage``: what those spans report, by scope | absorption | at their ends |
    | ``nested``: the counted model calls directly inside it, until they are looked at | accounting | at their ends |
    | ``routed``: its model only routes to others, whose usage is counted on its own | accounting | at its end |
    | ``passed_as``: the name under which a framework passes it on, if another | the library | in the call |
    | ``opened``: the library's own call inside it, which is part of it, has begun | the library | in the call |
    """

    name = "inner"
    carried: dict[str, list[str | None]] | None = None
    attributes: Attributes | None = None
    spans: dict[str, int] | None = None
    transported = False
    layer_counts: list[LayerCount] | None = None
    span_usage: dict[str, Usage] | None = None
    nested: list[Any] | None = None
    routed = False
    passed_as = ""
    opened = False


class Looking(RecordPart):
    """The last look at a call, where its body receives what the framework made of the arguments that gates were shown.

    | attribute | who writes it | when |
    |---|---|---|
    | ``shown``: the arguments that gates were shown, until the body receives its own | gates, the look | before it |
    | ``later``: the hooks of its kind, if some of them act once and wait for the look | the start | at the start |
    | ``unheard``: listeners wait for it too | the subscription | when the gates let the call pass |
    | ``look``: the look for which the call was left | the look | when a gate has to wait |
    | ``stopped``: what gates have refused it with there, whatever the framework makes of that | the look | at its end |
    """

    name = "looking"
    shown: Any = None
    later: Any = None
    unheard = False
    look: Any = None
    stopped: BaseException | None = None


class Shadowing(RecordPart):
    """What hooks in shadow mode have to do with an operation; made when the first of them is shown it.

    | attribute | who writes it | when |
    |---|---|---|
    | ``trials``: how far each hook has come, by the id of its ``Shadow`` | the shadow | as it is shown the operation |
    | ``decisions``: what the hooks would have done | each hook's own thread | when it has decided |
    """

    name = "shadowing"
    trials: dict[int, Any]
    decisions: list[DecisionRecord]

    def __init__(self) -> None:
        self.trials = {}
        self.decisions = []


class _Absent:
    """Stands in for a part that nobody has written."""

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{name} belongs to a part of the record that has not been made: see `Record.part`")


def _absent(kind: type[P]) -> P:
    """What stands in for a part of this kind; it has the kind's values for nothing."""
    stand_in: Any = type(f"No{kind.__name__}", (_Absent, kind), {})
    return stand_in()


NO_DECISIONS = _absent(HookDecisions)
NOT_SHARED = _absent(Shared)
NO_ENDING = _absent(EndDetails)
NOT_DEFERRED = _absent(Deferred)
NO_STREAM = _absent(StreamState)
NO_CALLS = _absent(InnerCalls)
NOT_LOOKING = _absent(Looking)
