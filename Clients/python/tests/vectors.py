"""The vectors of Tests/Vectors in the form that the codecs have."""

from __future__ import annotations

import json
import pathlib
import re
import uuid
from typing import Any

from nest.wire import requests
from nest.wire.rows import Key, Position, WireRow, make_key
from nest.wire.values import Date, Reference, Value

DIRECTORY = pathlib.Path(__file__).resolve().parents[3] / "Tests" / "Vectors"
#: Messages between the nodes of a cluster, which no client sends or receives (protocol.md, section 23).
OF_NODES = {"follow", "logHead", "record", "logBehind", "peerOpen", "peerClose", "peerRequest", "peerPresence"}
_LEAVES = ("sum", "min", "max", "avg")


#: The files that tests have loaded.
loaded: set[str] = set()


def load(name: str) -> Any:
    loaded.add(name)
    return json.loads((DIRECTORY / f"{name}.json").read_text())


def bytes_of(text: str) -> bytes:
    return bytes.fromhex("".join(text.split()))


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])ID$", "_id", re.sub(r"(?<=[a-z])([A-Z])(?=[a-z]|$)", lambda m: "_" + m[1].lower(), name))


def value_of(value: Any) -> Value:
    """A value as section 3 of protocol.md writes it in JSON."""
    if not isinstance(value, dict):
        return value
    ((kind, of),) = value.items()
    match kind:
        case "double":
            return float(of)
        case "integer":
            return int(of)
        case "date":
            return Date(int(of))
        case "data":
            return bytes.fromhex(of)
        case "reference":
            return Reference(of)
        case "uuid":
            return uuid.UUID(of)
    raise AssertionError(kind)


def path_of(path: Any) -> Any:
    leaf = path["leaf"]
    if isinstance(leaf, int):
        made = {"steps": path["steps"], "leaf": leaf}
        if leaf == 3:
            made["function"] = _LEAVES[path["function"] - 1]
        made["property"] = path["property"] if leaf else 0
        return made | ({"attribute": path["attribute"]} if leaf == 3 else {})
    made = {"steps": path["steps"]}
    if leaf == "object":
        return made | {"leaf": 0, "property": 0}
    for name in _LEAVES:
        if name in leaf:
            return made | {"leaf": 3, "function": name, "property": leaf[name], "attribute": leaf["attribute"]}
    if "count" in leaf:
        return made | {"leaf": 2, "property": leaf["count"]}
    return made | {"leaf": 1, "property": leaf["attribute"]}


def node_of(node: Any) -> tuple[str, Any]:
    if "operator" not in node:
        ((name, operand),) = node.items()
        return name, None if name == "not" else operand
    return "comparison", {
        "quantifier": node["quantifier"],
        "path": path_of(node),
        "operator": requests.OPERATORS[node["operator"] - 1],
        "folding": node["folding"],
        "values": [value_of(v) for v in node["values"]],
    }


def expansion_of(expansion: Any) -> tuple[str, int]:
    return ("attribute", expansion["attribute"]) if isinstance(expansion, dict) else (expansion, 0)


def request_of(request: Any) -> dict[str, Any]:
    """A fetch request of frames.json, or one in numbers of requests.json."""
    window = request.get("window") or {}
    predicate = request.get("predicate") or b""
    if isinstance(predicate, str):
        predicate = bytes.fromhex(predicate)
    elif predicate:
        predicate = requests.encode_predicate([node_of(node) for node in predicate])
    section = request.get("section")
    if section:
        function = section["function"]
        name = function if isinstance(function, str) else requests.SECTION_FUNCTIONS[function - 1]
        section = {"function": name, "path": path_of(section["path"])}
    outline = request.get("outline")
    if outline:
        outline = {"expansion": expansion_of(outline["expansion"]), "exceptions": outline["exceptions"]}
    anchor = window.get("anchor", window.get("around"))
    return {
        "entity": request["entity"],
        "source": request.get("source"),
        "projection": request.get("projection") or [],
        "sort": [sort_of(key) for key in request.get("sort") or []],
        "predicate": predicate,
        "columns": [path_of(path) for path in request.get("columns") or []],
        "section": section,
        "range": {"offset": window["offset"], "limit": window["limit"]} if "offset" in window else None,
        "around": None if anchor is None else {"anchor": anchor, "before": window["before"], "after": window["after"]},
        "outline": outline,
        "totals": [
            {"function": total["function"], "path": path_of(total["path"]) if total.get("path") else None}
            for total in request.get("totals") or []
        ],
    }


def sort_of(key: Any) -> dict[str, Any]:
    is_order = key.get("order", False) or key.get("key") == "order"
    path = None if is_order else path_of(key.get("key") or key["path"])
    descending = key["descending"] if "descending" in key else not key.get("isAscending", True)
    return {"path": path, "descending": descending, "folding": key.get("folding", 0)}


def position_of(window: Any) -> Position | None:
    if window is None:
        return None
    start = window["start"]
    return Position(
        window["total"],
        window["sectionTotal"],
        start["row"],
        start["section"],
        start["rowInSection"],
        window.get("anchor"),
    )


def row_of(row: Any) -> WireRow:
    return WireRow(row["id"], tuple(value_of(v) for v in row["values"]))


#: Members that are bytes, written in hexadecimal digits.
_BYTES = {"session", "expected_history", "history_id", "payload", "secret", "hash", "node", "key", "id", "digest"}
_NUMBERS = {"features", "expected_model_hash", "model_hash", "checksum", "digest"}


def plain(value: Any, name: str = "", type: str = "") -> Any:
    """A member of a vector as the codecs have it."""
    if isinstance(value, list):
        return [plain(item, name, type) for item in value]
    if isinstance(value, dict):
        if name in ("value", "before", "after", "default", "minimum", "maximum") and type != "fetch":
            return value_of(value)
        return {snake(key): plain(item, snake(key), type) for key, item in value.items()}
    if name in _NUMBERS and isinstance(value, str) and len(value) == 16:
        return int(value, 16)
    if name in _BYTES and isinstance(value, str) and re.fullmatch("([0-9a-f]{2})+", value) and len(value) >= 16:
        return bytes.fromhex(value)
    return value


def _mutation(mutation: Any) -> tuple[str, Any]:
    ((name, step),) = mutation.items()
    made = {key: item for key, item in step.items()}
    for part in ("values", "match"):
        if part in made:
            made[part] = [_assignment(one) for one in made[part]]
    if "placements" in made:
        made["placements"] = [_placement(one) for one in made["placements"]]
    if "placement" in made:
        made["placement"] = _placement(made["placement"])
    if "place" in made:
        made["place"] = _place(made["place"])
    return name, made


def _assignment(one: Any) -> dict[str, Any]:
    what = ("reference", one["reference"]) if "reference" in one else ("value", value_of(one["value"]))
    return {"property": one["property"], "what": what}


def _placement(one: Any) -> dict[str, Any]:
    return one | {"place": _place(one["place"])}


def _place(place: Any) -> tuple[str, Any]:
    if isinstance(place, str):
        return place, None
    ((name, operand),) = place.items()
    return name, operand


def fields_of(type: str, fields: Any) -> dict[str, Any]:
    """The fields of a message of frames.json."""
    fields = {key: item for key, item in fields.items() if key != "valueCount"}
    made: dict[str, Any] = plain(fields, type=type)
    if "request" in fields and type != "explanation":
        made["request"] = request_of(fields["request"])
    match type:
        case "welcome":
            replica = made.pop("replica", None)
            if replica:
                made |= {"store": replica["store"], "node_role": replica["role"], "leader": replica.get("leader")}
            made["session_number"] = made.get("session_number") or None
        case "error" | "goAway":
            made["retry_after"] = made.pop("retry_after_milliseconds")
        case "undo" | "redo":
            made = {"policy": "keep", "rehomes": False, "expected": None} | made
        case "transaction":
            made["mutations"] = [_mutation(one) for one in fields["mutations"]]
            made["coalescing"] = fields.get("coalescing")
        case "importSubtree":
            made["placement"] = _placement(fields["placement"])
        case "previewUndo":
            what = fields["what"]
            if isinstance(what, dict):
                ((name, operand),) = what.items() if "revision" not in what else (("revert", what),)
                made["what"] = (name, plain(operand))
            else:
                made["what"] = (what, None)
        case "cluster":
            for node in made.get("nodes", []):
                node["role"] = node["role"] or "stopped"
        case "value":
            made["value"] = bytes.fromhex(fields["value"])
        case "subscribed":
            made["revision"] = made["revision"] or 0
        case "snapshot" | "totals" | "diff":
            made["position"] = position_of(fields.get("window"))
            made.pop("window", None)
    if type in ("snapshot", "snapshotSections"):
        made["sections"] = [
            {"key": make_key(value_of(s["key"])), "row_count": s["rowCount"]} for s in fields["sections"]
        ]
    if type == "snapshotRows":
        made["rows"] = [row_of(row) for row in fields["rows"]]
    if type == "diff":
        made |= diff_of(fields)
    if type == "subscribeChanges":
        place = made.pop("place", 0)
        if made["since"]:
            made["since"]["place"] = place
    if type == "undoPreview":
        for change, given in zip(made["changes"], fields["changes"], strict=True):
            change["values"] = [
                v | {"before": value_of(v["before"]), "after": value_of(v["after"])} for v in given["values"]
            ]
    if type == "object":
        made["values"] = [v | {"value": value_of(v["value"])} for v in fields["values"]]
    if type == "resultTotals":
        made["values"] = [value_of(v) for v in fields["values"]]
        made["sections"] = [s | {"values": [value_of(v) for v in s["values"]]} for s in fields["sections"]]
    if type == "setPresence":
        made["bytes"] = None if fields["bytes"] is None else bytes.fromhex(fields["bytes"])
    if type == "presence":
        for one in made["changes"]:
            one["bytes"] = bytes.fromhex(one["bytes"])
    if type == "backupChunk":
        made["packed"] = bytes.fromhex(fields["packed"])
    if type == "predicate":
        predicate = fields["predicate"]
        nodes = isinstance(predicate, list)
        made["predicate"] = (
            requests.encode_predicate([node_of(n) for n in predicate]) if nodes else bytes.fromhex(predicate)
        )
    return made


def diff_of(fields: Any) -> dict[str, Any]:
    def at(item: Any, name: str = "at") -> tuple[int, int]:
        return item[name][0], item[name][1]

    return {
        "from": fields["from"],
        "to": fields["to"],
        "total": fields["total"],
        "digest": int(fields["digest"], 16),
        "deleted_rows": [{"at": at(r), "id": r["id"], "reason": r["reason"]} for r in fields["deletedRows"]],
        "deleted_sections": fields["deletedSections"],
        "inserted_sections": [{"at": s["at"], "key": make_key(value_of(s["key"]))} for s in fields["insertedSections"]],
        "moves": [{"from": at(m, "from"), "to": at(m, "to")} for m in fields["moves"]],
        "inserted_rows": [{"at": at(r), "row": row_of(r)} for r in fields["insertedRows"]],
        "updates": [
            {"at": at(u), "values": [{"property": v["property"], "value": value_of(v["value"])} for v in u["values"]]}
            for u in fields["updates"]
        ],
        "position": position_of(fields.get("window")),
    }


def section_key(value: Any) -> Key:
    return make_key(value_of(value))
