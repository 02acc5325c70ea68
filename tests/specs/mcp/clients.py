"""The Python clients, `mcp` and `fastmcp`, list and call over both transports.

Started by `cargo xtask judge`, which says where everything is.
"""

import asyncio
import os

import fastmcp
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

HAFT, TOOLS, URL = os.environ["HAFT"], os.environ["TOOLS"], os.environ["URL"]
ARGUMENTS = ["--tool", TOOLS, "serve", "mcp"]
EXPECTED = "This is a simple text response for testing."


async def with_mcp(name, streams):
    async with streams as opened, ClientSession(opened[0], opened[1]) as session:
        await session.initialize()
        listed = await session.list_tools()
        assert any(tool.name == "test_simple_text" for tool in listed.tools), listed
        said = await session.call_tool("test_simple_text", {})
        assert said.content[0].text == EXPECTED, said
        print(f"{name}: {len(listed.tools)} tools, content")


async def with_fastmcp(name, transport):
    async with fastmcp.Client(transport) as client:
        tools = await client.list_tools()
        assert any(tool.name == "test_simple_text" for tool in tools), tools
        said = await client.call_tool("test_simple_text", {})
        assert said.content[0].text == EXPECTED, said
        print(f"{name}: {len(tools)} tools, content")


def over_http():
    try:
        from mcp.client.streamable_http import streamable_http_client as connect
    except ImportError:
        from mcp.client.streamable_http import streamablehttp_client as connect
    return connect(URL)


async def main():
    parameters = StdioServerParameters(command=HAFT, args=ARGUMENTS, env=dict(os.environ))
    await with_mcp("mcp, stdio", stdio_client(parameters))
    await with_mcp("mcp, http", over_http())
    stdio = StdioTransport(command=HAFT, args=ARGUMENTS, env=dict(os.environ))
    await with_fastmcp("fastmcp, stdio", stdio)
    await with_fastmcp("fastmcp, http", StreamableHttpTransport(URL))


asyncio.run(main())
