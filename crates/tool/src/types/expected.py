# Written by `haft types --python`: run it again when the tools change.
#
# The tools, with the types of their arguments and structured results:
#   1 "odd" name\u{202e}: Tool1OddNameInput -> Any
#   empty: EmptyInput -> Any
#   git-log: GitLogInput -> GitLogOutput
#   git_log: GitLog2Input -> GitLog2Output
#   rest: RestInput -> Any
#   unions: UnionsInput -> Any

from __future__ import annotations

from typing import Any, Literal, NoReturn, TypeAlias, TypedDict

class Tool1OddNameInputNodeType(TypedDict):
    """A node."""

    children: list[Tool1OddNameInputNodeType]

Tool1OddNameInputLoopType: TypeAlias = "Any"

class Tool1OddNameInputType(TypedDict, total=False):
    root: Tool1OddNameInputNodeType
    same: Tool1OddNameInputNodeType
    loop: Tool1OddNameInputLoopType
    lost: Any
    self: Tool1OddNameInputType

class Tool1OddNameInput(TypedDict, total=False):
    """Odd"""

    root: Tool1OddNameInputNodeType
    same: Tool1OddNameInputNodeType
    loop: Tool1OddNameInputLoopType
    lost: Any
    self: Tool1OddNameInputType

class EmptyInput(TypedDict):
    pass

GitLogInput: TypeAlias = "dict[str, Any]"

GitLogOutput: TypeAlias = "Any"

class GitLog2InputNestedDeep(TypedDict):
    x: Any

class GitLog2InputNested(TypedDict, total=False):
    deep: GitLog2InputNestedDeep

class GitLog2InputFixed(TypedDict):
    a: list[Literal[1] | Literal["b"]]

GitLog2InputRequired = TypedDict(
    "GitLog2InputRequired",
    {
        # How many.
        # At most 100.
        "n": "int",
        # */ hostile """ \u{202e}
        "not-a-name": "str",
        "undeclared": "Any",
    },
)

GitLog2InputOptional = TypedDict(
    "GitLog2InputOptional",
    {
        "ratio": "float",
        "all": "bool",
        "since": "str | None",
        "kind": "Literal[\"a\"] | Literal[\"b\\\"\\\\\\U0000202e\"] | Literal[1] | float | Literal[-2] | Literal[True] | None",
        "only": "Literal[\"x\"]",
        # A word of Python
        "class": "str",
        "tags": "list[str | float]",
        "pair": "list[float | str]",
        "old_pair": "list[float | str]",
        "map": "dict[str, float]",
        "nested": "GitLog2InputNested",
        "later": "str | None",
        "nothing": "NoReturn",
        "fixed": "GitLog2InputFixed",
    },
    total=False,
)

class GitLog2Input(GitLog2InputRequired, GitLog2InputOptional):
    """Reads the log. */

      \"\"\" Second \\ line.
    """


class GitLog2OutputItem(TypedDict):
    sha: str

GitLog2Output: TypeAlias = "list[GitLog2OutputItem]"

class RestInput(TypedDict, total=False):
    a: str

class UnionsInputMoreType(TypedDict, total=False):
    more: int

class UnionsInput2(TypedDict):
    base: str
    more: int
    kind: Literal["circle"]
    r: float

class UnionsInput3Required(TypedDict):
    base: str
    more: int
    kind: Literal["square"]

class UnionsInput3(UnionsInput3Required, total=False):
    side: float

UnionsInput: TypeAlias = "UnionsInput2 | UnionsInput3"
