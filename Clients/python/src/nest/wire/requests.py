"""Fetch requests (protocol.md, section 9) and the byte form of predicates, in both directions."""

from __future__ import annotations

from ..errors import NestError, ProtocolError
from . import limits
from .bytes import Reader, Writer, malformed
from .codec import (
    Codec,
    Field,
    Fields,
    checked,
    choice,
    decode_with,
    encode_with,
    list_of,
    number16,
    object_id,
    rest,
    struct,
    tagged,
    u8,
    value,
    varint,
)

#: In a projection: the object's own entity, the first column, and what only rows of outlines have.
ENTITY_PROPERTY = 0
FIRST_COLUMN = 65_280
CHILDREN_PROPERTY = 65_534
DEPTH_PROPERTY = 65_535

FUNCTIONS = ("sum", "min", "max", "avg")
SECTION_FUNCTIONS = ("value", "firstCharacter", "year", "month", "day")
OPERATORS = (
    *("==", "!=", "<", "<=", ">", ">=", "BETWEEN", "IN", "CONTAINS", "BEGINSWITH"),
    *("ENDSWITH", "LIKE", "IN SUBTREE", "MATCHES"),
)

#: The properties of a projection or transfer.
properties = list_of(number16, 1, limits.PROJECTION_MAX)


def _unsupported(what: str) -> ProtocolError:
    return ProtocolError("UNSUPPORTED", f"{what} is not known")


# A path is {steps, leaf, property}. leaf 0: the object at the end, 1: its attribute, 2: the number of objects of a
# relationship, 3: a function of an attribute behind the relationship, with `function` and `attribute`, 4: the number of
# a relationship's objects of which the program `where` is true.


def _read_path(r: Reader) -> Fields:
    count = r.count()
    if count > limits.PATH_STEPS_MAX:
        raise malformed("a path is too long")
    steps = [number16.read(r) for _ in range(count)]
    leaf = r.u8()
    if count + (leaf > 1) > limits.PATH_STEPS_MAX:
        raise malformed("a path is too long")
    # Only a path in a predicate ends in a SUBQUERY.
    if leaf > 4 or leaf == 4 and r.depth == 0:
        raise _unsupported("the end of a path")
    path: Fields = {"steps": steps, "leaf": leaf}
    if leaf == 3:
        function = r.u8()
        if not 1 <= function <= len(FUNCTIONS):
            raise _unsupported("the function of a path")
        path["function"] = FUNCTIONS[function - 1]
    path["property"] = number16.read(r) if leaf else 0
    if leaf == 3:
        path["attribute"] = number16.read(r)
    if leaf == 4:
        path["where"] = _read_program(r)
    return path


def _write_path(w: Writer, path: Fields) -> None:
    steps, leaf = path["steps"], path["leaf"]
    if len(steps) + (leaf > 1) > limits.PATH_STEPS_MAX:
        raise NestError("INVALID", f"a path follows more than {limits.PATH_STEPS_MAX} relationships")
    w.varint(len(steps))
    for step in steps:
        w.varint(step)
    w.u8(leaf)
    if leaf == 3:
        w.u8(FUNCTIONS.index(path["function"]) + 1)
    if leaf:
        w.varint(path["property"])
    if leaf == 3:
        w.varint(path["attribute"])
    if leaf == 4:
        _nodes.write(w, path["where"])


path = Codec(_read_path, _write_path)


def _read_sort(r: Reader) -> Fields:
    bits = r.u8()
    if bits > 15:
        raise _unsupported("a flag of a sort key")
    return {"path": None if bits & 8 else path.read(r), "descending": bool(bits & 1), "folding": bits >> 1 & 3}


def _write_sort(w: Writer, key: Fields) -> None:
    w.u8((1 if key["descending"] else 0) | key["folding"] << 1 | (8 if key["path"] is None else 0))
    if key["path"] is not None:
        path.write(w, key["path"])


#: {path, descending, folding}; path None: the order of a relationship. folding: 1 case, 2 diacritics, 3 both.
sort_key = Codec(_read_sort, _write_sort)


# Predicates: a list of nodes in postfix order, ("constant", bool), ("not", None), ("and", count), ("or", count) or
# ("comparison", {quantifier, path, operator, folding, values}).


def _up_to(most: int, what: str) -> Codec:
    def read(r: Reader) -> int:
        byte = r.u8()
        if byte > most:
            raise _unsupported(what)
        return byte

    return Codec(read, u8.write)


_comparison = struct(
    quantifier=_up_to(3, "a quantifier"),
    path=path,
    operator=choice(*OPERATORS, first=1),
    folding=_up_to(3, "a folding"),
    values=list_of(value, 1, limits.PREDICATE_VALUES_MAX),
)


def _read_node(r: Reader) -> tuple[str, object]:
    byte = r.u8()
    if byte > 5:
        raise _unsupported("a node of a predicate")
    if byte < 2:
        return "constant", byte == 1
    if byte == 2:
        return "comparison", _comparison.read(r)
    if byte == 3:
        return "not", None
    return ("and" if byte == 4 else "or"), varint.read(r)


def _write_node(w: Writer, node: tuple[str, object]) -> None:
    name, operand = node
    if name == "constant":
        w.u8(1 if operand else 0)
        return
    w.u8({"comparison": 2, "not": 3, "and": 4, "or": 5}[name])
    if name == "comparison":
        _comparison.write(w, operand)
    elif name != "not":
        varint.write(w, operand)


_nodes = list_of(Codec(_read_node, _write_node), 1, limits.PREDICATE_NODES_MAX)
Program = list[tuple[str, object]]


def _is_well_formed(program: Program) -> bool:
    """Whether the program leaves one value, and every connective finds its operands. No nodes are true."""
    height = 0
    for name, operand in program:
        count = 1 if name == "not" else operand if name in ("and", "or") else 0
        assert isinstance(count, int)
        if count > height or name in ("and", "or") and count < 2:
            return False
        height += 1 - count
    return height == 1 or not program


def _read_program(r: Reader) -> Program:
    if r.depth > limits.SUBQUERY_DEPTH_MAX:
        raise ProtocolError("LIMIT_EXCEEDED", f"SUBQUERYs are over {limits.SUBQUERY_DEPTH_MAX} deep")
    r.depth += 1
    program: Program = _nodes.read(r)
    r.depth -= 1
    if not _is_well_formed(program):
        raise malformed("a predicate leaves no single value")
    return program


def _read_predicate(r: Reader) -> Program:
    program = _read_program(r)
    r.finish()
    return program


predicate = Codec(_read_predicate, _nodes.write)


def decode_predicate(body: bytes) -> Program:
    program: Program = decode_with(predicate, body)
    return program


def encode_predicate(program: Program) -> bytes:
    return encode_with(predicate, program)


# Outlines and totals


def _read_expansion(r: Reader) -> tuple[str, int]:
    kind: str = _expansions.read(r)
    attribute: int = number16.read(r)
    if attribute and kind != "attribute":
        raise malformed("an expansion has an attribute")
    return kind, attribute


def _write_expansion(w: Writer, v: tuple[str, int]) -> None:
    _expansions.write(w, v[0])
    number16.write(w, v[1])


_expansions = choice("none", "all", "attribute", "asBefore")
_outline = checked(
    struct(
        expansion=Codec(_read_expansion, _write_expansion),
        exceptions=list_of(object_id, 1, limits.OUTLINE_EXCEPTIONS_MAX),
    ),
    lambda v: v["expansion"][0] != "asBefore" or not v["exceptions"],
    "an outline as before has exceptions",
)


def _read_total(r: Reader) -> Fields:
    function = _total_functions.read(r)
    return {"function": function, "path": None if function == "count" else path.read(r)}


def _write_total(w: Writer, v: Fields) -> None:
    _total_functions.write(w, v["function"])
    if v["function"] != "count":
        path.write(w, v["path"])


_total_functions = choice("count", *FUNCTIONS)

_fields = tagged(
    {
        1: Field("source", struct(object=object_id, relationship=number16), None),
        2: Field("projection", properties, []),
        3: Field("sort", list_of(sort_key, 1, limits.SORT_KEYS_MAX), []),
        4: Field("predicate", rest, b""),
        5: Field("columns", list_of(path, 2, limits.COLUMNS_MAX), []),
        6: Field("section", struct(function=choice(*SECTION_FUNCTIONS, first=1), path=path), None),
        7: Field("range", struct(offset=varint, limit=varint), None),
        8: Field("around", struct(anchor=object_id, before=varint, after=varint), None),
        9: Field("outline", _outline, None),
        10: Field("totals", list_of(Codec(_read_total, _write_total), 1, limits.TOTALS_MAX), []),
    },
    most=limits.FETCH_FIELDS_MAX,
    is_strict=True,
)


def _read_request(r: Reader) -> Fields:
    fields: Fields = {"entity": number16.read(r), **_fields.read(r)}
    if fields["range"] and fields["around"]:
        raise malformed("a request has two windows")
    if fields["predicate"]:
        decode_predicate(fields["predicate"])
    return fields


def _write_request(w: Writer, fields: Fields) -> None:
    number16.write(w, fields["entity"])
    # A predicate without nodes is true of all objects.
    is_true = len(fields.get("predicate") or b"") <= 1
    _fields.write(w, {**fields, "predicate": None} if is_true else fields)


#: {entity, source, projection, sort, predicate (bytes), columns, section, range or around, outline, totals}
request = Codec(_read_request, _write_request)
