"""What is gated in the MCP SDK, at clients and at servers, and what is not."""

from typing import Any, cast

from spanhook.cli.conformance.libraries import mcp_clients as clients
from spanhook.cli.conformance.libraries import mcp_servers as servers
from spanhook.cli.conformance.libraries.mcp_clients import ASKED, LACKING, kept, ways
from spanhook.cli.conformance.servers.mcp_server import FOUND, PROMPT, TOOL, URI
from spanhook.cli.conformance.subject import RAISED, Body, Fault, Subject, Ungated
from spanhook.semconv import Kind

_REFUSED = Fault("an error of the protocol", status=-32000)


def _itself(body: Body) -> Body:
    return body


_AT_CLIENTS: dict[str, Any] = {"make": _itself, "said": FOUND, "slow": True, "lacking": LACKING}
_AT_SERVERS: dict[str, Any] = {
    "asked": ASKED,
    "said": FOUND,
    "raises": False,  # whoever asked is told
    "lacking": servers.LACKING,
}
RESOURCE, GET = cast("Kind", "mcp.resource.read"), cast("Kind", "mcp.prompt.get")


def _body(body: Body) -> Body:
    return body


SUBJECTS: tuple[Subject, ...] = (
    Subject(
        "mcp client, tool",
        "tool.execute",
        ways=ways(clients.call_tool, clients.send_tool, every=True),
        bind={"call_tool": kept("call_tool", TOOL, {"query": ASKED})},
        asked=ASKED,
        faults=(RAISED, _REFUSED),
        **_AT_CLIENTS,
    ),
    Subject(
        "mcp client, resource",
        RESOURCE,
        ways=ways(clients.read_resource, clients.send_read),
        bind={"read_resource": kept("read_resource", URI)},
        faults=(_REFUSED,),
        **_AT_CLIENTS,
    ),
    Subject(
        "mcp client, prompt",
        GET,
        ways=ways(clients.get_prompt, clients.send_get),
        bind={"get_prompt": kept("get_prompt", PROMPT, {"name": ASKED})},
        asked=ASKED,
        faults=(_REFUSED,),
        **_AT_CLIENTS,
    ),
    Subject(
        "mcp tool in its server", "tool.execute", _body, {"call_tool": servers.directly}, {}, asked=ASKED, said=FOUND
    ),
)

MORE: tuple[Subject, ...] = (
    Subject("mcp server, tool", "tool.execute", _body, servers.ways(servers.CALL), {}, **_AT_SERVERS),
    Subject("mcp server, resource", RESOURCE, _body, servers.ways(servers.READ), {}, **_AT_SERVERS),
    Subject("mcp server, prompt", GET, _body, servers.ways(servers.GET), {}, **_AT_SERVERS),
    Subject(
        "mcp server, handler of one's own",
        "tool.execute",
        _body,
        servers.HANDLERS,
        {},
        asked=ASKED,
        said=FOUND,
        raises=False,
    ),
)

UNGATED = (
    Ungated("what a server asks of a client: sampling, elicitation, roots"),
    Ungated("results of tasks that are fetched later"),
    Ungated("resources and prompts, read from within their server"),
    Ungated("fastmcp's own tools, called without a request"),
)
