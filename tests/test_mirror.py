"""Tests stand where what they are about stands.

``tests/FOLDER/test_NAME.py`` is about ``spanhook/FOLDER/NAME.py``, about ``_NAME.py`` there, or about the package
``NAME``. And each module has tests of its name: there, in ``tests/conformance`` if they go through every library, or of
the name of the package around it. What differs stands below, with its reason.
"""

from pathlib import Path

from tests.inventory import each

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src" / "spanhook"

ACROSS = {
    "agent_hooks": "the conformance kit of the agent-hooks contract, in an environment of its own",
    "applications": "agents that others publish, in an environment of their own",
    "browser": "the control plane's web pages in Chromium",
    "compose": "docker-compose.yml on a real container engine, and the command that starts it",
    "conformance": "promises that hold for every library and every way of calling",
    "conventions": "what the conventions ask for, of everything that is emitted",
    "e2e": "what is exported, with the real collector and its backends",
    "foreign": "programs beside the instrumentations of others, in an environment of their own",
    "examples": "examples/",
    "forking": "how tests start processes",
    "presidio": "Presidio's recognizers, in an environment of its own",
    "typing": "what users write, for the type checker",
}
"""Folders of tests that are about no one package."""

WHOLE = {
    "bootstrap/test_configuration_file": "one file through all commands and their children",
    "bootstrap/test_launch_refused": "all that keeps a command from starting, in whichever module it is found",
    "bootstrap/test_strict": "one option through all commands and their children",
    "config/test_cuts": "one promise of several modules",
    "test_skips": "tests/skips.py and tests/programs.py",
    "test_asleep": "tests/asleep.py",
    "instrument/test_anthropic_within_langchain": "two libraries over one call",
    "engine/test_wrong_adapters": "adapters that are wrong, through all of the engine",
    "engine/test_dropped": "streams that are dropped with others inside, through all of the engine",
    "engine/test_own_kinds": "kinds of the application's own, from their registration to their spans",
    "engine/test_own_nesting": "own code and bound libraries inside of each other",
    "instrument/litellm/test_without_extras": "the library as far as it can be imported",
    "jobs/test_cancelling": "one promise, for every store",
    "jobs/workers/test_measured": "of the benchmark of workers",
    "jobs/test_readers": "one promise, for every log of events",
    "schedules/test_following": "one promise of several modules",
    "server/test_jobs_through_restarts": "servers that follow each other, and their readers",
    "test_request_fields": "the lists of fields, for all providers",
    "instrument/botocore/test_request_fields": "fields of requests, by the SDK's own types",
    "instrument/cohere/test_request_fields": "fields of requests, by the SDK's own types",
    "instrument/google_genai/test_request_fields": "fields of requests, by the SDK's own types",
    "instrument/mistralai/test_request_fields": "fields of requests, by the SDK's own types",
    "instrument/openai/test_request_fields": "fields of requests, by the SDK's own types",
    "instrument/test_anthropic_request_fields": "fields of requests, by the SDK's own types",
    "instrument/test_groq_request_fields": "fields of requests, by the SDK's own types",
    "model/test_exact_names": "a rule for all code that reads names of the application",
    "hooks/injection_scan/test_injection_scan": "the hook as its users see it",
    "instrument/botocore/test_bodies": "one kind of result, through all that reads it",
    "instrument/claude_agent_sdk/test_application": "the library as its users see it",
    "instrument/fast_agent/test_application": "the library as its users see it",
    "instrument/fast_agent/test_providers": "two libraries over each other",
    "instrument/fastapi/test_serving": "one promise, for Starlette too",
    "instrument/google_genai/test_batches": "one operation, through every way of calling it",
    "instrument/pydantic_ai/test_tools_in_tools": "one promise, whatever calls a tool",
    "instrument/google_genai/test_content": "the library as its users see it",
    "instrument/google_genai/test_refusals": "every way of calling, refused and answered",
    "instrument/google_genai/test_streams": "one promise for every part of a stream",
    "instrument/google_genai/test_tools_of_mcp": "two libraries over each other",
    "instrument/google_genai/test_usage": "the library as its users see it",
    "instrument/botocore/test_caching_and_thinking": "what newer versions of the SDK know of",
    "instrument/botocore/test_within_langchain": "two libraries over each other",
    "instrument/crewai/test_mcp": "two libraries over each other",
    "instrument/langchain_core/test_spans_and_decisions": "the library as its users see it",
    "instrument/mcp/test_application": "the library as its users see it",
    "instrument/mcp/test_processes": "a client, and its server in a child process",
    "instrument/mcp/test_traces": "clients and servers as one trace",
    "instrument/openai/test_absorbed": "two libraries over each other",
    "instrument/openai/test_chosen": "what decisions choose, run by the SDK's own runner",
    "instrument/openai/test_contract": "every way of calling, with spanhook and without",
    "instrument/openai/test_denied": "every way of calling, refused",
    "instrument/openai/test_rewriting": "one promise for all endpoints",
    "instrument/openai/test_spans_and_usage": "the library as its users see it",
    "instrument/openai/test_streams": "one promise for all endpoints",
    "instrument/test_anthropic_tools": "what the tool runners of Anthropic's SDK run",
    "instrument/test_mcp_within_langchain_core": "two libraries over each other",
    "instrument/test_openai_agents_over_mcp": "two libraries over each other",
    "instrument/langgraph_api/test_requests": "two libraries over each other",
    "instrument/langgraph_api/test_writes": "LangGraph within its own server",
    "instrument/litellm/test_attempts": "retries, fallbacks and the router",
    "instrument/litellm/test_chat": "its functions as their users call them",
    "instrument/litellm/test_layers": "what is above it, and functions that are gated like others",
    "instrument/litellm/test_mcp": "tools of MCP servers that it executes, in a process of their own",
    "instrument/litellm/test_programs": "programs that its harnesses run",
    "instrument/litellm/test_streams": "its streams as their readers see them",
    "instrument/openai_agents/test_application": "the library as its users see it",
    "instrument/openai_agents/test_ways_around": "every way in, for those who want to get around it",
    "instrument/openai_agents/test_websockets": "models that speak past any HTTP client",
    "instrument/pydantic_ai/test_application": "the library as its users see it",
    "instrument/smolagents/test_application": "the library as its users see it",
    "instrument/haystack/test_application": "the library as its users see it",
    "instrument/haystack/test_native": "the library's own hooks and spans, of all of its modules",
    "instrument/llama_index/test_application": "the library as its users see it",
    "instrument/agent_framework/test_application": "the library as its users see it",
    "instrument/agent_framework/test_native": "the library's own middleware and spans, of all of its modules",
    "instrument/strands/test_application": "the library as its users see it",
    "instrument/google_adk/test_application": "the library as its users see it",
    "instrument/google_adk/test_live": "live runs, of all of its modules",
    "instrument/google_adk/test_transports": "the clients below its models",
    "instrument/google_adk/test_native": "the library's own callbacks and spans, of all of its modules",
    "instrument/strands/test_native": "the library's own hooks and spans, of all of its modules",
    "instrument/pydantic_ai/test_ways_around": "every way in, for those who want to get around it",
    "instrument/pydantic_ai/test_mcp_toolsets": "two libraries over each other",
    "instrument/test_import_order": "every library, whatever is imported first",
    "runs/test_graphs": "hooks of runs on LangGraph, from the call to what they are told",
    "server/test_durability": "one promise of the whole server",
    "server/test_every_route": "one promise for all routes",
    "server/test_hostile": "one promise for all routes",
    "server/test_every_credential": "one promise for all routes",
    "server/test_fuzzing": "one promise for all routes",
    "store/control/test_own_telemetry": "what spanhook exports, from an operation to the pages of the control plane",
    "store/test_ledgers": "what every ledger promises, wherever it is kept",
    "test_benchmarks": "benchmarks/",
    "test_benchmarks_figures": "instructions that benchmarks/ counts, and what they are compared with",
    "test_ci_selection": ".ci/selection.py",
    "test_words": "names in src/",
    "test_import_rules": ".ci/rules.py and the contracts in pyproject.toml",
    "test_dashboards": "grafana/",
    "test_mirror": "tests/",
    "test_thinning": "tests/thinning.py and tests/inventory.py",
    "test_project": "what stands beside the source",
    "test_readme": "README.md and docs/",
    "test_semconv_registry": "docs/semconv/",
    "test_stack_files": "docker-compose.yml and what it mounts",
    "test_tier_files": "collector/ and grafana/ as they are deployed",
}
"""Tests that are about no one module."""

THROUGH = {
    "bootstrap/environment": "bootstrap/test_launch",
    "bootstrap/target": "bootstrap/test_launch_refused",
    "engine/receiving": "instrument/langchain_core/test_tool_bodies",
    "gating/last_look": "instrument/langchain_core/test_tool_bodies",
    "instrument/receivers": "instrument/langchain_core/test_tool_bodies",
    "model/bodies": "instrument/langchain_core/test_tool_bodies",
    "cards/_yaml": "cards/test_reading",
    "hooks/_audit_entry": "hooks/test_audit_log",
    "hooks/_event_line": "hooks/test_console_log",
    "hooks/_event_record": "hooks/test_file_log",
    "schedules/state": "schedules/test_deciding",
    "store/_compressing": "store/test_rotating_file",
    "store/_postgres_database": "store/test_approvals",
    "gating/_condition_tree": "gating/test_condition_types",
    "mending": "gating/test_refusals",
    "model/media_places": "hooks/test_pii_redaction",
    "model/terminal": "export/test_console",
    "concurrency/async_library": "conformance/test_trio",
    "concurrency/coroutines": "gating/test_hosts",
    "concurrency/handling": "gating/test_overdue",
    "telemetry/_greenlets": "export/test_asleep",
    "concurrency/remote": "gating/test_hosts",
    "config/use": "telemetry/test_pipeline",
    "cli/approving": "cli/test_approvals",
    "cli/stacking": "cli/test_stack",
    "cli/texts": "cli/test_load",
    "store/control/run_search": "store/control/test_run_filters",
    "config/bind_entry": "config/test_bound",
    "config/building": "config/test_checking",
    "config/complaints": "config/test_checking",
    "config/file": "config/test_checking",
    "config/gauges": "telemetry/test_metrics",
    "config/models": "config/test_json_schema",
    "config/own_hooks": "config/test_checking",
    "config/requirements": "config/test_instrumenting",
    "config/reporting": "config/test_reload",
    "config/toml_tables": "config/test_reading",
    "config/validating": "config/test_checking",
    "config/yaml_nodes": "config/test_reading",
    "config/policies": "server/routes/test_policies",
    "engine/_chunks": "conformance/test_streams",
    "engine/_ending": "conformance/test_streams",
    "engine/_foreign_operations": "conformance/test_foreign",
    "engine/_names": "instrument/langgraph/test_agents",
    "engine/_own_adapters": "engine/test_own_functions",
    "engine/_own_messages": "engine/test_own_blocks",
    "engine/_own_operation": "engine/test_own_blocks",
    "engine/_own_results": "engine/test_own_functions",
    "engine/_pending": "engine/test_completion",
    "gating/validating": "gating/test_handlers",
    "model/outlets": "conformance/test_callbacks",
    "engine/_own_signature": "engine/test_own_functions",
    "engine/_own_usage": "engine/test_own_blocks",
    "engine/_proxies": "conformance/test_contract",
    "engine/_holding": "conformance/test_windows",
    "engine/_steps": "conformance/test_streams",
    "engine/_transparent": "conformance/test_contract",
    "engine/_inner_windows": "conformance/test_windows",
    "engine/_windowed": "conformance/test_windows",
    "engine/_withheld": "conformance/test_callbacks",
    "engine/arriving": "instrument/mcp/test_traces",
    "instrument/served": "instrument/langgraph_api/test_creating",
    "engine/_lasting": "instrument/openai_agents/test_turns",
    "engine/calls": "conformance/test_contract",
    "engine/handover": "conformance/test_streams",
    "engine/turns": "instrument/openai_agents/test_turns",
    "engine/own_code": "engine/test_own_functions",
    "definitions/_building": "definitions/test_registry",
    "definitions/context": "definitions/test_contexts",
    "definitions/entries": "definitions/test_registry",
    "export/wire/encoders": "export/wire/test_spans",
    "export/wire/requests": "export/wire/test_spans",
    "gating/_condition_facts": "gating/test_conditions",
    "gating/_condition_text": "gating/test_conditions",
    "gating/_condition_values": "gating/test_conditions",
    "gating/_delegations": "model/test_delegation",
    "gating/_asking": "gating/test_hook",
    "gating/_nesting": "definitions/test_middleware",
    "gating/_observing": "gating/test_hook",
    "gating/_pieces": "gating/test_hosts",
    "gating/_together": "definitions/test_middleware",
    "gating/binding": "gating/test_checking",
    "gating/conclusion": "conformance/test_contract",
    "gating/control_flow": "conformance/test_contract",
    "gating/_generators": "gating/test_runner",
    "gating/_wrapping": "gating/test_hook",
    "gating/offers": "gating/test_registering",
    "gating/places": "gating/test_checking",
    "gating/plan": "gating/test_registry",
    "gating/_checking_window": "gating/test_window",
    "gating/strictness": "gating/test_loosening",
    "gating/tally": "telemetry/test_metrics",
    "telemetry/_histograms": "conventions/test_emitted",
    "instrument/_binders": "instrument/test_instrumentors",
    "instrument/_blocks": "instrument/starlette/test_exchange",
    "instrument/_outlets": "conformance/test_callbacks",
    "instrument/_points": "instrument/test_family",
    "instrument/_redirect": "conformance/test_kept",
    "instrument/_refusing": "instrument/test_unbound",
    "instrument/_signals": "instrument/test_wrapping",
    "instrument/functions": "instrument/test_anthropic_tools",
    "instrument/in_process": "instrument/claude_agent_sdk/test_servers",
    "instrument/instrumentor": "instrument/test_wrapping",
    "instrument/known": "instrument/test_unbound",
    "instrument/bound": "config/test_bound",
    "instrument/otel": "config/test_instrumenting",
    "instrument/stainless/options": "instrument/openai/test_rewriting",
    "instrument/stainless/parsing": "instrument/openai/test_contract",
    "instrument/stainless/paths": "instrument/openai/test_endpoints",
    "instrument/stainless/points": "instrument/openai/test_contract",
    "instrument/stainless/sdk": "instrument/openai/test_contract",
    "instrument/stainless/transport": "instrument/openai/test_contract",
    "instrument/surroundings": "instrument/openai/test_spans_and_usage",
    "instrument/watching": "instrument/test_unbound",
    "iterations/_context": "iterations/test_hooks",
    "iterations/_remembering": "iterations/test_hooks",
    "iterations/_ways": "iterations/test_hooks",
    "model/_clock": "model/test_operation",
    "model/_payload": "model/test_event",
    "model/_current": "conformance/test_interrupts",
    "model/_end": "conformance/test_interrupts",
    "model/_state": "model/test_operation",
    "model/_kinds": "engine/test_own_kinds",
    "model/_rewriting": "conformance/test_arrival",
    "model/_view": "model/test_operation",
    "model/adapter": "conformance/test_contract",
    "model/arguments": "conformance/test_arrival",
    "model/carried": "conformance/test_absorption",
    "model/decision": "gating/test_decisions",
    "model/media_forms": "model/test_media",
    "model/points": "instrument/test_wrapping",
    "model/record": "model/test_operation",
    "model/editing": "conformance/test_arrival",
    "model/nesting": "conformance/test_absorption",
    "model/reading": "conformance/test_contract",
    "model/streaming": "conformance/test_streams",
    "model/table_entry": "instrument/test_wrapping",
    "server/_requests": "server/test_guard",
    "server/budgets": "server/routes/test_budgets",
    "server/handlers": "server/routes/test_hooks",
    "server/measuring": "server/routes/test_health",
    "server/needs": "server/test_every_route",
    "server/policy_store": "server/routes/test_policies",
    "server/revisions": "server/test_sets",
    "server/pages/hook_forms": "server/pages/test_hooks",
    "server/routes/hook_models": "server/routes/test_hooks",
    "jobs/_folder_lock": "jobs/test_file_jobs",
    "jobs/_live": "jobs/test_file_jobs",
    "jobs/_plain": "jobs/test_agents",
    "jobs/keeping": "jobs/test_runner",
    "jobs/running": "jobs/test_runner",
    "jobs/store": "jobs/test_memory_jobs",
    "jobs/workers/_saq": "jobs/workers/test_working",
    "server/routes/agents": "server/routes/test_jobs",
    "server/routes/job_models": "server/routes/test_jobs",
    "server/routes/run_models": "server/routes/test_runs",
    "server/routes/sync_models": "server/routes/test_sync",
    "server/services": "server/test_app",
    "server/stored_hooks": "server/test_hook_store",
    "store/_renewal": "test_fork",
    "telemetry/_events": "telemetry/test_report",
    "telemetry/_fields": "telemetry/test_report",
    "telemetry/_lean_span": "telemetry/test_spans",
    "telemetry/_own_usage": "conformance/test_usage",
    "telemetry/accounting": "conformance/test_usage",
    "telemetry/otel_context": "telemetry/test_spans",
    "gating/estimating": "hooks/test_budget",
    "gating/pausing": "hooks/test_approval",
    "store/memory_approvals": "store/test_approvals",
    "store/postgres_approvals": "store/test_approvals",
    "store/redis_approvals": "store/test_approvals",
    "store/sqlite_approvals": "store/test_approvals",
    "store/_redis_server": "store/test_ledgers",
    "store/_sqlite_file": "store/test_ledgers",
    "store/ledger": "store/test_ledgers",
    "store/control/attributes": "store/control/test_ingestor",
    "store/control/columns": "store/control/test_database",
    "store/control/decision_facts": "store/control/test_ingestor",
    "store/control/facts": "store/control/test_run_state",
    "store/control/logs": "store/control/test_ingestor",
    "store/control/migrating": "store/control/test_database",
    "store/control/migrations/env": "store/control/test_database",
    "store/control/migrations/versions/v0001_first": "store/control/test_database",
    "store/control/migrations/versions/v0002_executions": "store/control/test_database",
    "store/control/migrations/versions/v0004_webhooks": "store/control/test_database",
    "store/control/migrations/changing": "store/control/migrations/versions/test_v0005_own_priorities",
    "server/routes/webhook_models": "server/routes/test_webhooks",
    "server/webhook_settings": "server/routes/test_webhooks",
    "server/stored_webhooks": "server/test_webhook_outbox",
    "server/webhook_store": "server/test_webhook_outbox",
    "store/outbox": "store/test_sqlite_outbox",
    "webhooks/forwarder": "hooks/test_webhook_forwarder",
    "webhooks/payload": "hooks/test_webhook_forwarder",
    "webhooks/tracing": "webhooks/test_deliverer",
    "server/pages/webhook_forms": "server/pages/test_webhooks",
    "store/control/migrations/versions/v0003_jobs": "store/control/test_database",
    "store/control/paging": "store/control/test_runs",
    "store/control/spans": "store/control/test_ingestor",
    "store/control/sql": "store/control/test_ingestor",
    "store/control/stored": "store/control/test_runs",
    "store/control/writing": "store/control/test_ingestor",
    "store/memory_ledger": "store/test_ledgers",
    "store/redis_ledger": "store/test_ledgers",
    "store/sqlite_ledger": "store/test_ledgers",
}
"""Modules that are tested by what uses them, and where."""

BARE = {"instrument/layers": "names", "version": "a number"}
"""Modules in which nothing can go wrong."""


def _tests() -> list[str]:
    found = (path.relative_to(TESTS) for path in TESTS.rglob("test_*.py"))
    return sorted(str(path.with_suffix("")) for path in found if path.parts[0] not in ACROSS)


def _modules() -> list[str]:
    found = (path.relative_to(SOURCE).with_suffix("") for path in SOURCE.rglob("*.py"))
    return sorted(str(path) for path in found if not path.name.startswith("__"))


def _is_module(name: str) -> bool:
    folder, _, module = name.rpartition("/")
    places = (
        SOURCE / folder / f"{module}.py",
        SOURCE / folder / f"_{module}.py",
        SOURCE / folder / module / "__init__.py",
        SOURCE / folder.replace("instrument", "instrument/formats", 1) / f"{module}.py",  # through its own library
    )
    return any(place.is_file() for place in places)


def _tested(module: str) -> bool:
    """Whether there are tests of its name, or of that of a package around it that is no shelf of packages itself."""
    path = Path(module)
    name = path.name.removeprefix("_")
    if (TESTS / path.parent / f"test_{name}.py").is_file() or (TESTS / "conformance" / f"test_{name}.py").is_file():
        return True
    package = path.parent
    of_package = any((TESTS / one.parent / f"test_{one.name}.py").is_file() for one in path.parents)
    is_library = package.parent.name == "instrument" and (TESTS / package).is_dir()
    return of_package or is_library or _is_format_of_a_library(path)


def _is_format_of_a_library(path: Path) -> bool:
    """Whether it belongs to a format whose provider's own library has tests."""
    if path.parent.parent != Path("instrument", "formats"):
        return False
    tests, provider = TESTS / "instrument", path.parent.name
    return any((*tests.glob(f"{provider}*/"), *tests.glob(f"test_{provider}*.py")))


def test_tests_are_named_for_what_they_are_about() -> None:
    lost = [
        test
        for test in _tests()
        if test not in WHOLE and not _is_module(test.replace("/test_", "/").removeprefix("test_"))
    ]
    assert not lost, "name these for a module of the same folder, or say in WHOLE what they are about"


@each(_modules())
def test_each_module_has_tests(module: str) -> None:
    if module not in THROUGH and module not in BARE:
        assert _tested(module), f"write tests of the name of {module}, or say in THROUGH which they are"


def test_exceptions_are_some() -> None:
    assert not [test for test in WHOLE if not (TESTS / f"{test}.py").is_file()]
    assert not [test for test in THROUGH.values() if not (TESTS / f"{test}.py").is_file()]
    assert not [module for module in (*THROUGH, *BARE) if not (SOURCE / f"{module}.py").is_file() or _tested(module)]
    assert not [folder for folder in ACROSS if not (TESTS / folder).is_dir()]
