"""JSON Schema of Python types, and the conversion of JSON to values of these types.

A codec is built once for a type. Pydantic models are used by their own methods, so pydantic is not
imported here.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import datetime
import decimal
import enum
import inspect
import pathlib
import types
import typing
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin

from . import _docstring
from ._types import JsonObject

Decode = Callable[[Any], Any]


class DecodeError(ValueError):
    """A JSON value does not fit a type. `path` leads to it."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.message = message
        self.path = path

    def below(self, key: str) -> DecodeError:
        """Returns the same error with its path below `key`."""
        separator = "" if not self.path or self.path.startswith("[") else "."
        return DecodeError(self.message, f"{key}{separator}{self.path}")


class UnsupportedTypeError(TypeError):
    """A type has no JSON Schema."""


@dataclass(frozen=True)
class Codec:
    """Schema of a type, and the conversion of JSON to its values."""

    schema: JsonObject
    decode: Decode


class Builder:
    """Builds codecs that share the definitions of named types (`$defs`)."""

    def __init__(self) -> None:
        self.definitions: JsonObject = {}
        # Types by name, for recursion: the second use of a type is a reference.
        self._named: dict[object, tuple[str, list[Decode]]] = {}

    def codec(self, tp: Any) -> Codec:
        """Builds the codec of a type."""
        origin, arguments = get_origin(tp), get_args(tp)
        if origin is Annotated:
            return self._annotated(arguments)
        if is_alias(tp):
            return self.codec(tp.__value__)
        if getattr(origin, "_name", None) in ("Required", "NotRequired", "ReadOnly"):
            return self.codec(arguments[0])
        if tp is Any or tp is object or tp is inspect.Parameter.empty:
            return Codec({}, lambda value: value)
        if tp is None or tp is type(None):
            return Codec({"type": "null"}, _exactly(None))
        if origin is Literal:
            return _choice(arguments)
        if origin is Union or origin is types.UnionType:
            return self._union(arguments)
        if hasattr(tp, "__supertype__"):  # NewType
            return self.codec(tp.__supertype__)
        if isinstance(tp, typing.TypeVar):
            return self.codec(tp.__bound__ or Any)
        if isinstance(tp, type) and origin is None:
            return self._class(cast("type[Any]", tp))
        if isinstance(origin, type):
            return self._generic(cast("type[Any]", origin), arguments)
        raise UnsupportedTypeError(f"`{tp!r}` has no JSON Schema; give the tool `parameters=`")

    def _annotated(self, arguments: tuple[Any, ...]) -> Codec:
        inner = self.codec(arguments[0])
        extra: JsonObject = {}
        for note in arguments[1:]:
            extra.update(_keywords(note))
        if not extra:
            return inner
        schema = inner.schema
        # A reference has no place for a description in older drafts; 2020-12 allows it.
        return Codec({**schema, **extra}, inner.decode)

    def _union(self, arguments: tuple[Any, ...]) -> Codec:
        branches = [self.codec(argument) for argument in arguments]
        types_of = [branch.schema.get("type") for branch in branches]
        if all(set(branch.schema) == {"type"} for branch in branches) and all(
            isinstance(name, str) for name in types_of
        ):
            schema: JsonObject = {"type": list(dict.fromkeys(types_of))}
        else:
            schema = {"anyOf": [branch.schema for branch in branches]}
        return Codec(schema, _first_of([branch.decode for branch in branches]))

    def _class(self, tp: type[Any]) -> Codec:
        simple = _SIMPLE.get(tp)
        if simple is not None:
            return simple
        if _is_pydantic(tp):
            return self._pydantic(tp)
        if issubclass(tp, enum.Enum):
            return self._enum(tp)
        if dataclasses.is_dataclass(tp):
            return self._named_type(tp, self._dataclass)
        if typing.is_typeddict(tp) or _is_extension_typed_dict(tp):
            return self._named_type(tp, self._typed_dict)
        if hasattr(tp, "_fields") and tuple in tp.__mro__:
            return self._named_type(tp, self._named_tuple)
        if issubclass(tp, str | int | float | bool):
            raise UnsupportedTypeError(f"`{tp.__name__}` is not a plain type; give `parameters=`")
        return self._generic(tp, ())

    def _generic(self, origin: type[Any], arguments: tuple[Any, ...]) -> Codec:
        if issubclass(origin, tuple):
            return self._tuple(arguments)
        if issubclass(origin, Mapping):
            return self._mapping(arguments)
        if issubclass(origin, AbstractSet):
            item = self.codec(arguments[0] if arguments else Any)
            target = cast("Decode", frozenset if origin is frozenset else set)
            schema = {**_array(item), "uniqueItems": True}
            return Codec(schema, lambda value: target(_items(value, item.decode)))
        if issubclass(origin, Iterable):
            item = self.codec(arguments[0] if arguments else Any)
            return Codec(_array(item), lambda value: _items(value, item.decode))
        raise UnsupportedTypeError(
            f"`{origin.__name__}` has no JSON Schema; use a dataclass, a TypedDict or a pydantic "
            "model, or give the tool `parameters=`"
        )

    def _mapping(self, arguments: tuple[Any, ...]) -> Codec:
        if arguments and arguments[0] is not str:
            raise UnsupportedTypeError("the keys of a JSON object are texts: `dict[str, …]`")
        item = self.codec(arguments[1] if len(arguments) > 1 else Any)

        def decode(value: Any) -> dict[str, Any]:
            fields = _object(value)
            return {key: _below(key, item.decode, entry) for key, entry in fields.items()}

        return Codec({"type": "object", "additionalProperties": item.schema or True}, decode)

    def _tuple(self, arguments: tuple[Any, ...]) -> Codec:
        if not arguments or (len(arguments) == 2 and arguments[1] is Ellipsis):
            item = self.codec(arguments[0] if arguments else Any)
            return Codec(_array(item), lambda value: tuple(_items(value, item.decode)))
        items = [self.codec(argument) for argument in arguments]
        size = len(items)

        def decode(value: Any) -> tuple[Any, ...]:
            entries = _list(value)
            if len(entries) != size:
                raise DecodeError(f"expected {size} items, received {len(entries)}")
            pairs = enumerate(zip(items, entries, strict=True))
            return tuple(_below(f"[{at}]", item.decode, entry) for at, (item, entry) in pairs)

        schema = {"type": "array", "prefixItems": [item.schema for item in items]}
        return Codec({**schema, "minItems": size, "maxItems": size}, decode)

    def _enum(self, tp: type[enum.Enum]) -> Codec:
        members = {_key(member.value): member for member in tp}
        codec = _choice([member.value for member in tp])
        return Codec(codec.schema, lambda value: members[_key(codec.decode(value))])

    def _pydantic(self, tp: Any) -> Codec:
        schema = dict(tp.model_json_schema(ref_template="#/$defs/{model}"))
        self.definitions.update(schema.pop("$defs", {}))

        def decode(value: Any) -> Any:
            # `ValidationError` of pydantic is a ValueError whose text names every problem.
            return tp.model_validate(value)

        return Codec(schema, decode)

    def _named_type(self, tp: type[Any], build: Callable[[type[Any]], Codec]) -> Codec:
        known = self._named.get(tp)
        if known is None:
            name = tp.__name__
            while name in self.definitions:
                name += "_"
            holder: list[Decode] = []
            known = self._named[tp] = (name, holder)
            self.definitions[name] = {}
            codec = build(tp)
            self.definitions[name] = codec.schema
            holder.append(codec.decode)
        name, holder = known
        return Codec({"$ref": f"#/$defs/{name}"}, lambda value: holder[0](value))

    def _dataclass(self, tp: type[Any]) -> Codec:
        hints = type_hints(tp)
        fields: dict[str, Field] = {}
        for entry in dataclasses.fields(tp):
            if not entry.init:
                continue
            has_default = (
                entry.default is not dataclasses.MISSING
                or entry.default_factory is not dataclasses.MISSING
            )
            default = entry.default if entry.default is not dataclasses.MISSING else NO_DEFAULT
            fields[entry.name] = Field(hints[entry.name], not has_default, default)
        return self.object(tp.__doc__, fields, lambda values: tp(**values), is_type=True)

    def _typed_dict(self, tp: type[Any]) -> Codec:
        hints = type_hints(tp)
        required = cast("frozenset[str]", getattr(tp, "__required_keys__", ()))
        fields: dict[str, Field] = {}
        for name, hint in hints.items():
            # With annotations that are texts, `__required_keys__` does not know the marks.
            mark = getattr(get_origin(hint), "_name", None)
            is_required = mark == "Required" or (name in required and mark != "NotRequired")
            fields[name] = Field(hint, is_required)
        return self.object(tp.__doc__, fields, dict, is_type=True)

    def _named_tuple(self, tp: type[Any]) -> Codec:
        hints = type_hints(tp)
        defaults = cast("dict[str, Any]", getattr(tp, "_field_defaults", {}))
        names = cast("tuple[str, ...]", tp._fields)
        fields = {
            name: Field(hints.get(name, Any), name not in defaults, defaults.get(name, NO_DEFAULT))
            for name in names
        }
        return self.object(tp.__doc__, fields, lambda values: tp(**values), is_type=True)

    def object(
        self,
        docstring: str | None,
        fields: Mapping[str, Field],
        build: Callable[[dict[str, Any]], Any],
        *,
        is_type: bool,
    ) -> Codec:
        """Builds the codec of an object with these fields."""
        # `dataclass` and NamedTuple generate a docstring that repeats the signature.
        parsed = _docstring.parse(docstring)
        codecs: dict[str, Codec] = {}
        properties: JsonObject = {}
        for name, entry in fields.items():
            codec = codecs[name] = self.codec(entry.type)
            of_field = dict(codec.schema)
            if name in parsed.parameters and "description" not in of_field:
                of_field["description"] = parsed.parameters[name]
            if entry.default is not NO_DEFAULT:
                with_default(of_field, entry.default)
            properties[name] = of_field
        required = [name for name, entry in fields.items() if entry.is_required]
        schema: JsonObject = {"type": "object", "properties": properties}
        if required:
            schema["required"] = required
        schema["additionalProperties"] = False
        if is_type and parsed.text and not _is_generated(parsed.text):
            schema["description"] = parsed.text

        def decode(value: Any) -> Any:
            given = _object(value)
            values: dict[str, Any] = {}
            for name in given:
                if name not in codecs:
                    raise DecodeError("there is no such field", name)
            for name, codec in codecs.items():
                if name in given:
                    values[name] = _below(name, codec.decode, given[name])
                elif name in required:
                    raise DecodeError("missing", name)
            return build(values)

        return Codec(schema, decode)


class _NoDefault:
    pass


NO_DEFAULT = _NoDefault()


@dataclass(frozen=True)
class Field:
    """A field of an object."""

    type: Any
    is_required: bool
    default: Any = NO_DEFAULT


def type_hints(owner: Any) -> dict[str, Any]:
    """Returns the resolved annotations of a function or a class, with `Annotated`."""
    try:
        return typing.get_type_hints(owner, include_extras=True)
    except NameError as error:
        name = getattr(owner, "__name__", owner)
        raise UnsupportedTypeError(
            f"an annotation of `{name}` cannot be resolved: {error}. Types of a tool must be "
            "importable at run time, not only below `if TYPE_CHECKING`"
        ) from error


def with_default(schema: JsonObject, default: Any) -> None:
    """Adds a default to a schema, if JSON can express it."""
    if isinstance(default, enum.Enum):
        default = default.value
    if default is None or isinstance(default, str | int | float | bool):
        schema["default"] = default
    elif isinstance(default, list | tuple):
        entries = cast("Sequence[object]", default)
        if all(isinstance(entry, str | int | float | bool) for entry in entries):
            schema["default"] = list(entries)


def is_alias(tp: Any) -> bool:
    """Returns true for `type X = …`, and for TypeAliasType of typing_extensions."""
    return type(tp).__name__ == "TypeAliasType" and hasattr(tp, "__value__")


def _is_pydantic(tp: type[Any]) -> bool:
    return hasattr(tp, "model_json_schema") and hasattr(tp, "model_validate")


def _is_extension_typed_dict(tp: type[Any]) -> bool:
    # typing.is_typeddict does not know the TypedDict of typing_extensions on older Pythons.
    return dict in tp.__mro__ and hasattr(tp, "__required_keys__")


def _is_generated(text: str) -> bool:
    return text.split("(", 1)[0].isidentifier() and text.endswith(")")


# Metadata of `Annotated`: a text is the description, a dict adds keywords, and objects like those
# of annotated-types and pydantic's Field have their limits as attributes.
_LIMITS = {
    "description": "description",
    "title": "title",
    "examples": "examples",
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
    "multiple_of": "multipleOf",
    "pattern": "pattern",
}


def _keywords(note: Any) -> JsonObject:
    if isinstance(note, str):
        return {"description": note}
    if isinstance(note, dict):
        return cast("JsonObject", note)
    found: JsonObject = {}
    for attribute, keyword in _LIMITS.items():
        value = getattr(note, attribute, None)
        if value is not None and not callable(value):
            found[keyword] = value
    if documentation := getattr(note, "documentation", None):  # typing_extensions.Doc
        found["description"] = documentation
    for entry in cast("Iterable[Any]", getattr(note, "metadata", ()) or ()):
        found.update(_keywords(entry))
    return found


def _choice(values: Sequence[Any]) -> Codec:
    by_key = {_key(value): value for value in values}
    names = {_JSON_TYPES.get(type(value)) for value in values}
    schema: JsonObject = {"enum": list(values)}
    if len(names) == 1 and (name := names.pop()) is not None:
        schema = {"type": name, **schema}

    def decode(value: Any) -> Any:
        try:
            return by_key[_key(value)]
        except (KeyError, TypeError):
            choices = ", ".join(repr(choice) for choice in values)
            raise DecodeError(f"expected one of {choices}") from None

    return Codec(schema, decode)


_JSON_TYPES: dict[Any, str] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    type(None): "null",
}


def _key(value: Any) -> tuple[bool, Any]:
    # True equals 1 in Python, but not in JSON.
    return isinstance(value, bool), value


def _first_of(branches: list[Decode]) -> Decode:
    def decode(value: Any) -> Any:
        problems: list[ValueError] = []
        for branch in branches:
            try:
                return branch(value)
            except ValueError as error:
                problems.append(error)
        # The branch that got furthest knows best what is wrong.
        raise max(problems, key=lambda error: len(getattr(error, "path", "")))

    return decode


def _array(item: Codec) -> JsonObject:
    return {"type": "array", "items": item.schema} if item.schema else {"type": "array"}


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise DecodeError(f"expected an object, received {_name(value)}")
    return cast("dict[str, Any]", value)


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise DecodeError(f"expected an array, received {_name(value)}")
    return cast("list[Any]", value)


def _items(value: Any, decode: Decode) -> list[Any]:
    return [_below(f"[{at}]", decode, entry) for at, entry in enumerate(_list(value))]


def _below(key: str, decode: Decode, value: Any) -> Any:
    try:
        return decode(value)
    except DecodeError as error:
        raise error.below(key) from None
    except ValueError as error:
        raise DecodeError(str(error), key) from error


def _name(value: Any) -> str:
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "an array"
    return _JSON_TYPES.get(type(value), type(value).__name__)


def _exactly(expected: Any) -> Decode:
    def decode(value: Any) -> Any:
        if value is not expected:
            raise DecodeError(f"expected null, received {_name(value)}")
        return value

    return decode


def _typed(name: str, *accepted: type) -> Decode:
    def decode(value: Any) -> Any:
        # A bool is an int in Python.
        if not isinstance(value, accepted) or (isinstance(value, bool) and bool not in accepted):
            raise DecodeError(f"expected {name}, received {_name(value)}")
        return value

    return decode


def _integer(value: Any) -> int:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return _typed("integer", int)(value)


def _number(value: Any) -> float:
    return float(_typed("number", int, float)(value))


def _parsed(parse: Callable[[str], Any]) -> Decode:
    text = _typed("string", str)

    def decode(value: Any) -> Any:
        try:
            return parse(text(value))
        except DecodeError:
            raise
        except (ValueError, ArithmeticError, binascii.Error) as error:
            raise DecodeError(str(error) or f"invalid value {value!r}") from None

    return decode


def _decimal(value: Any) -> decimal.Decimal:
    try:
        return decimal.Decimal(str(_typed("number", int, float, str)(value)))
    except ArithmeticError:
        raise DecodeError(f"invalid number {value!r}") from None


def _moment(text: str) -> datetime.datetime:
    # Python 3.10 does not know the Z of RFC 3339.
    return datetime.datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith("Z") else text)


def _text(format: str | None = None) -> JsonObject:
    return {"type": "string", "format": format} if format else {"type": "string"}


_SIMPLE: dict[Any, Codec] = {
    str: Codec(_text(), _typed("string", str)),
    int: Codec({"type": "integer"}, _integer),
    float: Codec({"type": "number"}, _number),
    bool: Codec({"type": "boolean"}, _typed("boolean", bool)),
    bytes: Codec(
        {"type": "string", "contentEncoding": "base64"},
        _parsed(lambda text: base64.b64decode(text, validate=True)),
    ),
    list: Codec({"type": "array"}, _list),
    dict: Codec({"type": "object"}, _object),
    datetime.datetime: Codec(_text("date-time"), _parsed(_moment)),
    datetime.date: Codec(_text("date"), _parsed(datetime.date.fromisoformat)),
    datetime.time: Codec(_text("time"), _parsed(datetime.time.fromisoformat)),
    uuid.UUID: Codec(_text("uuid"), _parsed(uuid.UUID)),
    decimal.Decimal: Codec({"type": ["number", "string"]}, _decimal),
    pathlib.Path: Codec(_text(), _parsed(pathlib.Path)),
}
