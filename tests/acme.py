"""A library that spanhook does not bind, and all that it would take: as text, to be written where it is tried."""

DECLARED = """
Declaration(
    "acme",
    instrumentor="spanhook.instrument.acme:AcmeInstrumentor",
    requirement="acme-sdk >= 1, < 2",
    extra="acme",
    aliases=("ac",),
    tracing=Tracing(("com.example.sdk",), "always", swallows=True),
    doubled=("llm.call",),
    swallowing=("theirs.acme",),
    variables=("ACME_",),
    knows=("openai",),
)
"""

INSTRUMENTOR = """
from spanhook.instrument.instrumentor import Instrumentor
from spanhook.model import Adapter, Point, Reading, Usage

ASK = Adapter(
    kind="llm.call",
    layer="acme",
    start=lambda _i, _a, _k: {"gen_ai.request.model": "acme-1"},
    reading=Reading(response=lambda _result: ({}, Usage(10, 5))),
)


class AcmeInstrumentor(Instrumentor):
    library = "acme"
    kinds = frozenset(("llm.call",))
    table = (Point(module="acme", name="Client.ask", adapter="spanhook.instrument.acme:ASK"),)
"""

LIBRARY = """
from opentelemetry import trace

ASKED = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "acme-other"}

class Client:
    tracer_provider = None

    def ask(self, prompt):
        with self.tracer_provider.get_tracer("com.example.sdk").start_as_current_span("own", attributes=ASKED) as span:
            span.set_attributes({"gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 5})
            return prompt.upper()
"""

PROGRAM = """
import json, sys
from spanhook.instrument import INSTRUMENTORS, names
loaded = [name for name in sys.modules if name.startswith(("acme", "spanhook.instrument.acme"))]

import acme
from spanhook.cli.conformance.children import environment
from spanhook.cli.conformance.matrix import LIBRARIES
from spanhook.cli.doctor.others import others
from spanhook.engine import swallowing
from spanhook.testing import recorder

def asked(**given):
    with recorder(**given) as seen:
        acme.Client.tracer_provider = seen.tracer_provider
        tracer = seen.tracer_provider.get_tracer("openinference.instrumentation.acme")
        with tracer.start_as_current_span("theirs", attributes=acme.ASKED):
            acme.Client().ask("hi")
        with tracer.start_as_current_span("tool", attributes={"gen_ai.operation.name": "execute_tool"}):
            pass
    tokens = sum(value for _, value in seen.metrics().get("spanhook.usage.tokens", ()))
    return [[op.model or op.kind for op in seen.operations], tokens]

print(json.dumps({
    "bound": asked(),
    "by alias": asked(only=["ac"], require=["acme-sdk"]),
    "left out": asked(only=["openai"]),
    "loaded": loaded,
    "names": names(["acme", "ac", "acme-sdk"]),
    "swallowing": sorted(one for one in swallowing if "acme" in one or "example" in one),
    "others": [(one.name, one.libraries) for one in others(["acme"], {}) if "acme" in one.name],
    "conformance": [LIBRARIES["acme"].distribution, LIBRARIES["acme"].extra, LIBRARIES["acme"].version],
    "environment": environment({"ACME_KEY": "x", "ACMES": "y"}),
}))
"""

DOCTOR = """
from spanhook.cli.doctor import run_doctor

assert run_doctor(True, require=("ac",)) == run_doctor(False, require=("acme-sdk",)) == 0
"""
