"""The peer in Python: FastMCP with the same tool on standard input and output."""

from fastmcp import FastMCP

server = FastMCP("peer")


@server.tool
async def echo(text: str) -> str:
    """Says what it is told"""
    return text


server.run(transport="stdio", show_banner=False)
