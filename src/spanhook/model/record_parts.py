"""Parts of a record that few operations have: each is made by who first writes it.

Until then its place is taken by an object that says that there is nothing. Several threads may work on one operation,
so a part is put into its place by one atomic step, and all of them get the same.
"""

from array import array
from typing import Any

from spanhook.model.arguments import Attributes
from spanhook.model.decision import DecisionRecord
from spanhook.model.layer_count import LayerCount
from spanhook.model.usage import Usage


class StreamState:
    """What has become of a result that is a stream.

    | attribute | who writes it | when |
    |---|---|---|
    | ``asked_ns``: when the gates let the call pass | the gates | before the call |
    | ``streamed``: hooks may decide about its chunks | the track of the stream | when the call has returned |
    | ``buffered``: it is held back until hooks have seen all of it | the track | with the first chunk, or at its end |
    | ``first_chunk_ns``, ``later_chunks_ns``: when chunks came; later ones if recorded | the reading | per chunk |
    | ``windowed``: what showed hooks its text first, other than the stream itself | a stream inside it | per chunk |
    | ``reworded``: hooks have rewritten text of it | the window | per chunk |
    | ``answered``: the stream of a hook's answer, and what it adds up to | its first reader | after the call |
    | ``mark``: the id of its content, which shows whether a result belongs to another call | the reading | at its end |

    Times are in nanoseconds on the monotonic clock, 0 before.
    """

    asked_ns = 0
    streamed = False
    buffered = False
    first_chunk_ns = 0
    later_chunks_ns: "array[int] | None" = None
    windowed: Any = None
    reworded = False
    answered: tuple[Any, Any] | None = None
    mark: Any = None


class InnerCalls:
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
    """

    carried: dict[str, list[str | None]] | None = None
    attributes: Attributes | None = None
    spans: dict[str, int] | None = None
    transported = False
    layer_counts: list[LayerCount] | None = None
    span_usage: dict[str, Usage] | None = None
    nested: list[Any] | None = None


class Looking:
    """The last look at a call, where its body receives what the framework made of the arguments that gates were shown.

    | attribute | who writes it | when |
    |---|---|---|
    | ``later``: the hooks of its kind, if some of them act once and wait for the look | the start | at the start |
    | ``unheard``: listeners wait for it too | the subscription | when the gates let the call pass |
    | ``look``: the look for which the call was left | the look | when a gate has to wait |
    | ``stopped``: what gates have refused it with there, whatever the framework makes of that | the look | at its end |
    """

    later: Any = None
    unheard = False
    look: Any = None
    stopped: BaseException | None = None


class Shadowing:
    """What hooks in shadow mode have to do with an operation; made when the first of them is shown it.

    | attribute | who writes it | when |
    |---|---|---|
    | ``trials``: how far each hook has come, by the id of its ``Shadow`` | the shadow | as it is shown the operation |
    | ``decisions``: what the hooks would have done | each hook's own thread | when it has decided |
    """

    def __init__(self) -> None:
        self.trials: dict[int, Any] = {}
        self.decisions: list[DecisionRecord] = []


class _Absent:
    """Stands in for a part that nobody has written."""

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{name} belongs to a part of the record that has not been made: see `own_stream`")


class _NoStream(_Absent, StreamState): ...


class _NoCalls(_Absent, InnerCalls): ...


class _NotLooking(_Absent, Looking): ...


NO_STREAM = _NoStream()
NO_CALLS = _NoCalls()
NOT_LOOKING = _NotLooking()
