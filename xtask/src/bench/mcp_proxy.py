"""FastMCP in front of the MCP server that is named, on standard input and output."""

import sys

from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from fastmcp.server import create_proxy

program, *arguments = sys.argv[1:]
server = create_proxy(Client(StdioTransport(program, arguments)))
server.run(transport="stdio", show_banner=False)
