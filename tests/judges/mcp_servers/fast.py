"""A server as people write them with FastMCP."""

from dataclasses import dataclass

from fastmcp import Context, FastMCP

server = FastMCP("fast", instructions="Sums and cities.")


@dataclass
class City:
    name: str
    people: int


@server.tool
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool
def city(name: str) -> City:
    """Describes a city."""
    return City(name, 1000)


@server.tool
async def count(to: int, context: Context) -> str:
    """Counts and says so."""
    for number in range(1, to + 1):
        await context.report_progress(number, to)
        await context.info(f"at {number}")
    return f"counted to {to}"


@server.tool
def fails() -> str:
    """Fails."""
    raise ValueError("no luck")


@server.prompt
def review(language: str) -> str:
    """Asks for a review."""
    return f"Review this {language} program."


@server.resource("config://version")
def version() -> str:
    """The version."""
    return "1.2.3"


server.run(transport="stdio", show_banner=False)
