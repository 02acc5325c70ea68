"""Schemas of type hints and docstrings, and the conversion of arguments."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import typing
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, NewType, Optional, TypedDict, Union

import annotated_types
import pydantic
import pytest
import typing_extensions

import haft
from haft import _docstring
from haft._tools import FunctionTool, Invocation, output_json


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Size(enum.IntEnum):
    SMALL = 1
    LARGE = 2


@dataclasses.dataclass
class Point:
    """A place.

    Args:
        x: how far right
    """

    x: float
    y: float = 0.5
    tags: list[str] = dataclasses.field(default_factory=list[str])


@dataclasses.dataclass
class Node:
    name: str
    children: list[Node] = dataclasses.field(default_factory=list["Node"])


class Options(TypedDict, total=False):
    deep: typing_extensions.Required[bool]
    color: Color


class Pair(NamedTuple):
    left: int
    right: int = 2


PAIR = Pair(1)


class Address(pydantic.BaseModel):
    street: str = pydantic.Field(description="with the number", max_length=20)


class Person(pydantic.BaseModel):
    """Somebody."""

    name: str
    address: Address | None = None


UserId = NewType("UserId", int)


def schema_of(function: Any) -> dict[str, Any]:
    return FunctionTool(function).parameters


def call(function: Any, **arguments: Any) -> Any:
    invocation = Invocation(typing.cast("Any", None), "call", "tool")
    return FunctionTool(function).invoke(arguments, invocation)


def properties(function: Any) -> dict[str, Any]:
    return schema_of(function)["properties"]


def test_a_whole_function() -> None:
    @haft.tool(label="Search", approval="read", timeout=2.5)
    async def search(
        query: str,
        limit: Annotated[int, annotated_types.Ge(1), "how many"] = 10,
        order: Literal["asc", "desc"] = "asc",
        color: Color | None = None,
        *,
        ctx: haft.Context,
    ) -> list[str]:
        """Searches the catalog.

        Only the newest entries count.

        Args:
            query: what to look for,
                in words
            order: of the results

        Returns:
            the names
        """
        del limit, order, color, ctx
        return [query]

    assert search.to_json() == {
        "name": "search",
        "label": "Search",
        "approval": "read",
        "timeoutMs": 2500,
        "description": "Searches the catalog.\n\nOnly the newest entries count.",
        "parameters": {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "what to look for, in words"},
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "description": "how many",
                    "default": 10,
                },
                "order": {
                    "type": "string",
                    "enum": ["asc", "desc"],
                    "default": "asc",
                    "description": "of the results",
                },
                "color": {
                    "anyOf": [{"type": "string", "enum": ["red", "blue"]}, {"type": "null"}],
                    "default": None,
                },
            },
            "required": ["query"],
            "additionalProperties": False,
        },
    }
    assert search.is_async


def test_simple_types() -> None:
    def every(
        text: str,
        number: float,
        flag: bool,
        anything: Any,
        either: int | str,
        perhaps: Optional[int],  # noqa: UP045 (the old spelling)
        old: Union[int, list[int]],  # noqa: UP007
        names: Sequence[str],
        table: Mapping[str, int],
        pair: tuple[int, str],
        many: tuple[int, ...],
        unique: set[str],
        when: datetime.datetime,
        day: datetime.date,
        id: uuid.UUID,
        path: Path,
        price: decimal.Decimal,
        data: bytes,
        user: UserId,
        size: Size,
        nothing: None,
    ) -> tuple[Any, ...]:
        return (
            *(text, number, flag, anything, either, perhaps, old, names, table, pair, many),
            *(unique, when, day, id, path, price, data, user, size, nothing),
        )

    found = properties(every)
    assert found == {
        "text": {"type": "string"},
        "number": {"type": "number"},
        "flag": {"type": "boolean"},
        "anything": {},
        "either": {"type": ["integer", "string"]},
        "perhaps": {"type": ["integer", "null"]},
        "old": {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "integer"}}]},
        "names": {"type": "array", "items": {"type": "string"}},
        "table": {"type": "object", "additionalProperties": {"type": "integer"}},
        "pair": {
            "type": "array",
            "prefixItems": [{"type": "integer"}, {"type": "string"}],
            "minItems": 2,
            "maxItems": 2,
        },
        "many": {"type": "array", "items": {"type": "integer"}},
        "unique": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        "when": {"type": "string", "format": "date-time"},
        "day": {"type": "string", "format": "date"},
        "id": {"type": "string", "format": "uuid"},
        "path": {"type": "string"},
        "price": {"type": ["number", "string"]},
        "data": {"type": "string", "contentEncoding": "base64"},
        "user": {"type": "integer"},
        "size": {"type": "integer", "enum": [1, 2]},
        "nothing": {"type": "null"},
    }
    number = "7a8b3e1e-2b7f-4c5d-9d64-111111111111"
    values = call(
        every,
        text="a",
        number=1,
        flag=True,
        anything={"x": [1]},
        either="x",
        perhaps=None,
        old=[1],
        names=["a"],
        table={"a": 1},
        pair=[1, "x"],
        many=[1, 2],
        unique=["a", "a"],
        when="2026-11-23T10:00:00Z",
        day="2026-11-23",
        id=number,
        path="a/b",
        price=1.5,
        data="aGk=",
        user=5.0,
        size=2,
        nothing=None,
    )
    assert values == (
        *("a", 1.0, True, {"x": [1]}, "x", None, [1], ["a"], {"a": 1}, (1, "x"), (1, 2)),
        *({"a"}, datetime.datetime(2026, 11, 23, 10, tzinfo=datetime.timezone.utc)),
        *(datetime.date(2026, 11, 23), uuid.UUID(number), Path("a/b"), decimal.Decimal("1.5")),
        *(b"hi", 5, Size.LARGE, None),
    )


def test_objects() -> None:
    def place(
        point: Point, options: Options, person: Person, tree: Node, pair: Pair = PAIR
    ) -> tuple[Any, ...]:
        return point, options, person, tree, pair

    schema = schema_of(place)
    assert schema["properties"]["point"] == {"$ref": "#/$defs/Point"}
    assert schema["$defs"]["Point"] == {
        "type": "object",
        "properties": {
            "x": {"type": "number", "description": "how far right"},
            "y": {"type": "number", "default": 0.5},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["x"],
        "additionalProperties": False,
        "description": "A place.",
    }
    assert schema["$defs"]["Options"]["required"] == ["deep"]
    assert "description" not in schema["$defs"]["Node"]
    assert schema["$defs"]["Node"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Node"}
    assert schema["$defs"]["Address"]["properties"]["street"]["description"] == "with the number"
    assert schema["properties"]["person"]["description"] == "Somebody."
    point, options, person, tree, pair = call(
        place,
        point={"x": 1},
        options={"deep": True, "color": "red"},
        person={"name": "Ada", "address": {"street": "x"}},
        tree={"name": "a", "children": [{"name": "b"}]},
        pair={"left": 3},
    )
    assert point == Point(1.0)
    assert options == {"deep": True, "color": Color.RED}
    assert person == Person(name="Ada", address=Address(street="x"))
    assert tree == Node("a", [Node("b")])
    assert pair == Pair(3)


def test_all_arguments_as_one_value() -> None:
    @haft.tool(parameters=Person)
    def greet(person: Person) -> str:
        return f"Hello, {person.name}"

    assert greet.parameters["required"] == ["name"]
    assert "Address" in greet.parameters["$defs"]
    assert call(greet.function, person={"name": "Ada"}) == "Hello, Ada"
    invocation = Invocation(typing.cast("Any", None), "call", "greet")
    assert greet.invoke({"name": "Ada"}, invocation) == "Hello, Ada"
    with pytest.raises(ValueError, match="name"):
        greet.invoke({}, invocation)

    @haft.tool(parameters=Node, name="walk", description="Walks.")
    def with_definitions(node: Node) -> str:
        return node.name

    assert with_definitions.parameters["$defs"]["Node"]["type"] == "object"
    assert with_definitions.parameters["type"] == "object"
    raw = haft.tool(parameters={"type": "object"})
    assert raw(_keywords).invoke({"a": 1}, invocation) == {"a": 1}
    assert raw(_one_value).invoke({"a": 1}, invocation) == {"a": 1}


def _keywords(**arguments: Any) -> dict[str, Any]:
    return arguments


def _one_value(arguments: dict[str, Any]) -> dict[str, Any]:
    return arguments


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"point": {}}, "point.x: missing"),
        ({"point": {"x": "1"}}, "point.x: expected number, received string"),
        ({"point": {"x": True}}, "point.x: expected number, received boolean"),
        ({"point": {"x": 1, "z": 1}}, "point.z: there is no such field"),
        ({"point": {"x": 1, "tags": ["a", 1]}}, r"point.tags\[1\]: expected string"),
        ({"point": []}, "point: expected an object, received an array"),
        ({}, "point: missing"),
        ({"point": {"x": 1}, "color": "green"}, "color: expected one of 'red', 'blue'"),
        ({"point": {"x": 1}, "either": []}, "either: expected"),
        ({"point": {"x": 1}, "when": "soon"}, "when: Invalid isoformat string"),
        ({"point": {"x": 1}, "person": {}}, "person: 1 validation error for Person"),
    ],
)
def test_arguments_that_do_not_fit(arguments: dict[str, Any], message: str) -> None:
    def place(
        point: Point,
        color: Color = Color.RED,
        either: int | None = None,
        when: datetime.datetime | None = None,
        person: Person | None = None,
    ) -> None:
        raise AssertionError((point, color, either, when, person))

    with pytest.raises(ValueError, match=message):
        call(place, **arguments)


def test_functions_that_are_not_tools() -> None:
    def variable(*args: int) -> None:
        del args

    def unknown(value: threading_lock) -> None:  # pyright: ignore  # noqa: F821
        del value

    def strange(value: type) -> None:
        del value

    def keys(value: dict[int, str]) -> None:
        del value

    def context(ctx: haft.Context) -> None:
        del ctx

    async def sync_context(ctx: haft.SyncContext) -> None:
        del ctx

    cases: list[tuple[Any, str]] = [
        (variable, r"`\*args: .*int.*`, which has no schema"),
        (unknown, "cannot be resolved: name 'threading_lock'"),
        (strange, "tool `strange`: `type` has no JSON Schema"),
        (keys, "keys of a JSON object are texts"),
        (context, "the context of the sync tool `context` is a `haft.SyncContext`"),
        (sync_context, "the context of the async tool `sync_context` is a `haft.Context`"),
        (lambda: None, "a tool needs a name"),
    ]
    for function, message in cases:
        with pytest.raises(TypeError, match=message):
            haft.tool(function)


def test_methods_and_plain_calls() -> None:
    class Greeter:
        def __init__(self, greeting: str) -> None:
            self.greeting = greeting

        @haft.tool
        def greet(self, name: str) -> str:
            """Greets."""
            return f"{self.greeting}, {name}"

    tool = Greeter("Hello").greet
    assert tool.parameters["required"] == ["name"]
    invocation = Invocation(typing.cast("Any", None), "call", "greet")
    assert tool.invoke({"name": "Ada"}, invocation) == "Hello, Ada"
    assert Greeter("Hi").greet("Bob") == "Hi, Bob"

    @haft.tool
    def double(x: int, /, times: int = 2) -> int:
        return x * times

    assert double(4) == 8
    assert double.invoke({"x": 4, "times": 3}, invocation) == 12
    assert repr(double) == "<haft tool 'double'>"


def test_results() -> None:
    pixel = haft.Image.of(b"\x89PNG", "image/png")
    image = {"type": "image", "data": "iVBORw==", "mimeType": "image/png"}

    def text(text: str) -> dict[str, str]:
        return {"type": "text", "text": text}

    assert output_json(None) == {"content": []}
    assert output_json("hi") == {"content": [text("hi")]}
    assert output_json(pixel) == {"content": [image]}
    assert output_json([haft.Text("a"), pixel]) == {"content": [text("a"), image]}
    assert output_json(haft.Output("a", {"n": Size.SMALL}, is_error=True)) == {
        "content": [text("a")],
        "details": {"n": 1},
        "isError": True,
    }
    assert output_json(3) == {"content": [text("3")], "details": 3}
    assert output_json([]) == {"content": [text("[]")], "details": []}
    assert output_json(Point(1.0)) == {
        "content": [text('{\n  "x": 1.0,\n  "y": 0.5,\n  "tags": []\n}')],
        "details": {"x": 1.0, "y": 0.5, "tags": []},
    }
    assert output_json(Person(name="Ada"))["details"] == {"name": "Ada", "address": None}
    day = datetime.date(2026, 1, 2)
    assert output_json({"day": day, "set": {1}, "bytes": b"hi"})["details"] == {
        "day": "2026-01-02",
        "set": [1],
        "bytes": "aGk=",
    }
    with pytest.raises(ValueError, match="not JSON compliant"):
        output_json(float("nan"))
    with pytest.raises(TypeError, match="a tool returned object"):
        output_json(object())


def test_output_schema() -> None:
    @haft.tool(output=Point)
    def place() -> Point:
        return Point(1.0)

    assert place.to_json()["outputSchema"]["properties"]["x"]["type"] == "number"


@pytest.mark.parametrize(
    "docstring",
    [
        """Does it.

        Args:
            a (int): the first,
                continued
            b: the second

        Raises:
            ValueError: never
        """,
        """Does it.

        Parameters
        ----------
        a : int
            the first,
            continued
        b
            the second

        Returns
        -------
        str
            nothing
        """,
        """Does it.

        :param int a: the first,
            continued
        :param b: the second
        :returns: nothing
        """,
    ],
)
def test_docstrings(docstring: str) -> None:
    parsed = _docstring.parse(docstring)
    assert parsed.text == "Does it."
    assert parsed.parameters == {"a": "the first, continued", "b": "the second"}


def test_docstrings_without_sections() -> None:
    assert _docstring.parse(None) == _docstring.Docstring()
    text = "One line.\n\nNote: this is not a section.\n    indented: text"
    assert _docstring.parse(text).text == text
