"""Every vector of Tests/Vectors that concerns the bytes of a client."""

from __future__ import annotations

import pathlib
import unittest
from typing import Any

from nest.entities import Entity
from nest.errors import CODES, NestError, ProtocolError, number_of
from nest.machine.models import extends
from nest.model import Model, Relationship, make_model
from nest.requests import FetchRequest
from nest.wire import compression, hash, limits, requests, results
from nest.wire.bytes import Reader, Writer
from nest.wire.chunks import ChunkReader, ChunkRow
from nest.wire.frames import FrameDecoder, encode_frame, read_preface
from nest.wire.messages import MESSAGES, NAMES, decode, encode, error_of
from nest.wire.results import DiffMismatch, State, WireSection, apply_diff
from nest.wire.rows import WireRow, make_key
from nest.wire.values import read_value, value_bytes

from . import vectors
from .vectors import OF_NODES, bytes_of, load, value_of


def read_all(data: bytes, read: Any) -> Any:
    reader = Reader(data)
    value = read(reader)
    reader.finish()
    return value


def written(write: Any, value: Any) -> str:
    writer = Writer()
    write(writer, value)
    return writer.done().hex()


def exact(value: Any) -> Any:
    """A value with its type, so that 1, 1.0 and True differ."""
    return type(value).__name__, repr(value)


class ValueVectors(unittest.TestCase):
    def test_values_are_read_and_written_in_their_shortest_form(self) -> None:
        for vector in load("values"):
            with self.subTest(vector["hex"]):
                data = bytes_of(vector["hex"])
                if vector["kind"] == "value":
                    value = value_of(vector["value"])
                    self.assertEqual(exact(read_all(data, read_value)), exact(value))
                    again = value_bytes(value).hex()
                else:
                    value = int(vector["value"])
                    is_varint = vector["kind"] == "varint"
                    self.assertEqual(read_all(data, Reader.size if is_varint else Reader.zigzag), value)
                    again = written(Writer.varint if is_varint else Writer.zigzag, value)
                if not vector.get("decodesOnly"):
                    self.assertEqual(again, data.hex())

    def test_what_is_no_value_of_the_wire_is_refused(self) -> None:
        for value in (float("nan"), 2**63, -(2**63) - 1, "a\0b", "\ud800", "x" * 65537, b"x" * 65537, object(), [1]):
            with self.subTest(repr(value)[:30]), self.assertRaises(NestError):
                value_bytes(value)  # type: ignore[arg-type]


def is_absent(value: Any) -> bool:
    return value is None or value is False or value == 0 or value == "" or value == b"" or value == []


class FrameVectors(unittest.TestCase):
    def matches(self, actual: Any, expected: Any, what: str) -> None:
        """Fails unless all that is expected is there, and nothing else but what stands for left out."""
        if isinstance(expected, dict) and isinstance(actual, dict):
            for key, value in expected.items():
                self.matches(actual.get(key), value, f"{what}.{key}")
            for key, value in actual.items():
                self.assertTrue(key in expected or is_absent(value), f"{what}.{key} is {value!r}, and should be absent")
        elif isinstance(expected, list) and isinstance(actual, list):
            self.assertEqual(len(actual), len(expected), what)
            for index, (a, b) in enumerate(zip(actual, expected, strict=True)):
                self.matches(a, b, f"{what}[{index}]")
        else:
            self.assertEqual(exact(actual), exact(expected), what)

    def test_every_frame(self) -> None:
        seen = set()
        for vector in load("frames"):
            if vector["type"] in OF_NODES:
                continue
            with self.subTest(vector["name"]):
                seen.add(vector["type"])
                self.frame(vector)
        self.assertEqual(seen, set(MESSAGES), "every message has a vector")

    def frame(self, vector: Any) -> None:
        data = bytes_of(vector["hex"])
        decoder = FrameDecoder(limits.FRAME_BYTES_MAX)
        decoder.allows_compression = True
        for byte in data[:-1]:
            decoder.push(bytes((byte,)))
            self.assertIsNone(decoder.next())
        decoder.push(data[-1:])
        frame = decoder.next()
        assert frame is not None
        self.assertEqual((decoder.next(), decoder.waiting), (None, 0))
        self.assertEqual((NAMES[frame.type], frame.flags, frame.id), (vector["type"], vector["flags"], vector["id"]))
        self.assertEqual(encode_frame(frame.type, frame.flags, frame.id, frame.body), data)
        if frame.flags & 2:
            self.assertEqual(compression.content_size(frame.body), 217)
            if compression.IS_AVAILABLE:
                self.assertEqual(len(compression.unpack(frame.body)), 217)
            return
        fields = vector["fields"]
        if vector["type"] == "subtreeChunk":
            return self.chunk(frame.body, fields)
        expected = vectors.fields_of(vector["type"], fields)
        actual = decode(vector["type"], frame.body, fields.get("valueCount", 0), "window" in fields)
        self.matches(actual, expected, vector["name"])
        if not vector.get("decodesOnly"):
            if vector["direction"] == "client":
                self.assertEqual(encode(vector["type"], expected).hex(), frame.body.hex())
            if vector["type"] != "welcome":
                self.assertEqual(encode(vector["type"], actual).hex(), frame.body.hex())

    def chunk(self, body: bytes, fields: Any) -> None:
        if body[0] == 1:
            self.assertEqual(compression.content_size(body[1:]), 218)
            return
        rows = ChunkReader(fields["valueCount"]).read(body)
        expected = [
            ChunkRow(row["depth"], row.get("id"), tuple(map(value_of, row["values"]))) for row in fields["rows"]
        ]
        self.assertEqual(rows, expected)


class RequestVectors(unittest.TestCase):
    def test_requests_are_encoded_to_their_bytes(self) -> None:
        for case in load("requests")["cases"]:
            with self.subTest(case["name"]):
                fields = vectors.request_of(case["numbers"])
                self.assertEqual(written(requests.request.write, fields), case["hex"])
                actual = read_all(bytes_of(case["hex"]), requests.request.read)
                self.assertEqual(actual, fields)

    def test_requests_that_a_server_refuses_by_its_model_are_the_same_after_they_were_read(self) -> None:
        for case in load("requests")["refused"]:
            with self.subTest(case["name"]):
                fields = read_all(bytes_of(case["hex"]), requests.request.read)
                self.assertEqual(written(requests.request.write, fields), case["hex"])

    def test_malformed_requests_are_refused(self) -> None:
        for case in load("requests")["malformed"]:
            with self.subTest(case["name"]), self.assertRaises(ProtocolError) as caught:
                requests.request.read(Reader(bytes_of(case["hex"])))
            self.assertEqual(caught.exception.name, case["code"], case["name"])

    def test_predicates_are_the_same_after_they_were_read(self) -> None:
        file = load("predicates")
        count = 0
        for case in [*file["cases"], *file["programs"]]:
            with self.subTest(case["bytes"]):
                data = bytes_of(case["bytes"])
                self.assertEqual(requests.encode_predicate(requests.decode_predicate(data)).hex(), data.hex())
                count += 1
        self.assertGreater(count, 300)


class NameVectors(unittest.TestCase):
    """What a program writes in names becomes the numbers and bytes of the vectors."""

    def model(self, file: Any) -> Model:
        body = bytes_of(file["model"])
        return make_model(hash.fnv1a(body), decode("model", body))

    def test_the_model_has_the_names_and_numbers_of_the_vectors(self) -> None:
        for file in (load("requests"), load("predicates")):
            model = self.model(file)
            self.assertEqual(set(model.entities), {entity["name"] for entity in file["entities"]})
            for entity in file["entities"]:
                found = model.entity(entity["name"])
                self.assertEqual(found.number, entity["number"])
                numbers = {property.name: property.number for property in found.properties.values()}
                self.assertEqual(numbers, entity["properties"])

    def test_requests_in_names_become_their_bytes(self) -> None:
        file = load("requests")
        model = self.model(file)
        left_out = []
        for case in file["cases"]:
            names = case["names"]
            if "outline" in names:
                left_out.append(case["name"])
                continue
            with self.subTest(case["name"]):
                lowered = self.request(model, names).lower(bytes_of(case["numbers"]["predicate"] or ""))
                # The client always names the values that it asks for; "all" and twice the same have another form.
                wire = lowered.wire | {"projection": case["numbers"]["projection"]}  # type: ignore[operator]
                self.assertEqual(written(requests.request.write, wire), case["hex"])
                if names.get("properties"):
                    # The client shows every column that it asks for.
                    self.assertLessEqual(set(case["numbers"]["projection"]), set(lowered.projection))
        self.assertEqual(len(left_out), 3, "the client has no outlines")

    def request(self, model: Model, names: Any) -> FetchRequest:
        request: FetchRequest = Entity(model, model.entity(names["entity"]))
        if "of" in names:
            request = self.source(model, names)
        if "sort" in names:
            request = request.sorted(names["sort"])
        if "section" in names:
            text = names["section"]
            by, path = text[:-1].split("(") if "(" in text else ("value", text)
            request = request.section(path, by)
        shown = [("@entity" if name == "entity" else name) for name in names.get("properties", [])]
        columns = names.get("columns", [])
        request = request.properties(*dict.fromkeys([*columns, *shown]))
        window = names.get("window")
        if window and "anchor" in window:
            return request.around(window["anchor"], window["before"], window["after"])
        return request.window(window["offset"], window["limit"]) if window else request

    def source(self, model: Model, names: Any) -> FetchRequest:
        for entity in model.entities.values():
            property = entity.properties.get(names["of"]["relationship"])
            if isinstance(property, Relationship) and property.destination == model.entity(names["entity"]).number:
                return Entity(model, entity).of(names["of"]["object"], property.name)
        raise AssertionError(names)


class ErrorVectors(unittest.TestCase):
    def test_every_refusal(self) -> None:
        for case in load("refusals")["cases"]:
            with self.subTest(case["name"], text=case["text"]):
                error = error_of(decode("error", bytes_of(case["hex"])))
                retry = case["retry"] if case["retry"] <= 4 else 3
                self.assertEqual((error.code, error.name, error.retry), (case["code"], case["name"], retry))
                self.assertEqual((error.text, error.retry_after), (case["text"], case["retryAfter"] / 1000))
                self.assertEqual(
                    (error.object, error.leader, error.column),
                    (case.get("object"), case.get("leader"), case.get("column")),
                )
                faults = [(f.entity, f.property or 0, f.object or 0, f.text) for f in error.faults]
                expected = [(f["entity"], f["property"], f["object"], f["text"]) for f in case.get("faults", [])]
                self.assertEqual(faults, expected)
                self.assertEqual(number_of(error.name), case["code"])
                if error.name in CODES and CODES[error.name][1] != 0:
                    self.assertIn(error.retry, (CODES[error.name][1], 0, 1, 2, 3, 4))


def state_of(state: Any) -> State:
    sections = tuple(
        WireSection(vectors.section_key(s["key"]), tuple(vectors.row_of(row) for row in s["rows"]))
        for s in state["sections"]
    )
    position = vectors.position_of(state.get("window"))
    return State(state["revision"], tuple(state["projection"]), sections, position)


class DigestVectors(unittest.TestCase):
    def test_hashes_and_digests(self) -> None:
        for vector in load("digests"):
            with self.subTest(vector):
                self.digest(vector)

    def digest(self, vector: Any) -> None:
        match vector["kind"]:
            case "section":
                key = vectors.section_key(vector["key"])
                self.assertEqual(f"{key.hash:016x}", vector["hash"])
                self.assertEqual(value_bytes(key.value), bytes_of(vector["keyBytes"]))
            case "row":
                row = hash.row_hash(int(vector["sectionHash"], 16), vector["object"])
                self.assertEqual(f"{row:016x}", vector["hash"])
            case "digest":
                sections = [
                    WireSection(vectors.section_key(s["key"]), tuple(WireRow(id, ()) for id in self.ids(s)))
                    for s in vector["sections"]
                ]
                self.assertEqual(f"{results.digest(sections):016x}", vector["digest"])
            case "checksum":
                checksum = hash.FNV_START
                for chunk in vector["chunks"]:
                    checksum = hash.fnv1a(bytes_of(chunk), checksum)
                self.assertEqual(f"{checksum:016x}", vector["checksum"])
            case "model":
                (frame,) = [v for v in load("frames") if v["name"] == "model"]
                self.assertEqual(f"{hash.fnv1a(bytes_of(frame['hex'])[12:]):016x}", vector["hash"])
            case other:
                self.fail(other)

    @staticmethod
    def ids(section: Any) -> Any:
        if "rows" in section:
            return section["rows"]
        return range(section["firstRow"], section["firstRow"] + section["rowCount"])


class DiffVectors(unittest.TestCase):
    def test_every_diff_leads_to_the_new_state_and_leaves_the_old_one(self) -> None:
        for vector in load("diffs"):
            with self.subTest(vector["name"]):
                old, before = state_of(vector["old"]), state_of(vector["old"])
                has_window = "window" in vector["diff"]
                diff = decode("diff", bytes_of(vector["hex"]), len(old.projection), has_window)
                self.assertEqual(diff, vectors.diff_of(vector["diff"]))
                new = apply_diff(old, diff, is_answer=diff["from"] == diff["to"])
                self.assertEqual(repr(new), repr(state_of(vector["new"])))
                self.assertEqual(old, before)
                self.assertEqual(results.digest(new.sections), diff["digest"])


class ModelVectors(unittest.TestCase):
    def test_which_models_extend_the_base(self) -> None:
        vectors = load("models")
        base = decode("model", bytes_of(vectors["base"]))
        answers = set()
        for vector in vectors["cases"]:
            with self.subTest(vector["name"]):
                data = bytes_of(vector["model"])
                other = decode("model", data)
                self.assertEqual(encode("model", other), data)
                self.assertEqual(extends(other, base), vector["extends"])
                self.assertTrue(extends(other, other))
                answers.add(vector["extends"])
        self.assertEqual(answers, {True, False})


class AllVectors(unittest.TestCase):
    #: Files that say nothing about what this client computes. So do `truth` and `canonical` of predicates.json: the
    #: client keeps the bytes that PARSE_PREDICATE returns, and the server evaluates them.
    LEFT_TO_THE_SERVER = {
        "folding": "the server folds",
        "sortkeys": "the server sorts, and makes sections",
        "overlay": "this client shows no writes before they are confirmed",
        "optimistic": "this client shows no writes before they are confirmed",
    }

    def test_no_file_is_forgotten(self) -> None:
        source = pathlib.Path(__file__).read_text()
        files = {path.stem for path in vectors.DIRECTORY.glob("*.json")}
        self.assertEqual({name for name in files if f'load("{name}")' not in source}, set(self.LEFT_TO_THE_SERVER))


class NegativeVectors(unittest.TestCase):
    def test_every_negative_vector_is_refused(self) -> None:
        for vector in load("negative"):
            if vector["kind"] == "connection" or vector.get("type") in OF_NODES:
                continue
            with self.subTest(vector["name"]):
                if vector["expect"] is None:
                    self.assertIsNone(self.read(vector))
                    continue
                with self.assertRaises(ProtocolError) as caught:
                    self.read(vector)
                error = caught.exception
                reason = error.reason if isinstance(error, DiffMismatch) else error.name
                self.assertEqual(reason, vector["expect"], str(error))

    def read(self, vector: Any) -> Any:
        data = bytes_of(vector.get("hex", ""))
        match vector["kind"]:
            case "preface":
                return read_preface(data)
            case "frame" | "compressed":
                decoder = FrameDecoder(vector.get("bodyBytesMax", limits.FRAME_BYTES_MAX))
                decoder.allows_compression = bool(vector.get("features", 0) & 16)
                decoder.push(data)
                frame = decoder.next()
                if vector["kind"] == "frame":
                    return frame
                assert frame is not None
                if compression.IS_AVAILABLE:
                    return compression.unpack(frame.body)
                return compression.content_size(frame.body)
            case "value":
                return read_all(data, read_value)
            case "message":
                width = vector.get("valueCount", 0)
                if vector["type"] == "subtreeChunk":
                    return ChunkReader(width, lambda body: bytes(compression.content_size(body))).read(data)
                return decode(vector["type"], data, width, vector.get("hasWindow", False))
            case "apply":
                old = state_of(vector["old"])
                try:
                    return apply_diff(old, vectors.diff_of(vector["diff"]))
                finally:
                    self.assertEqual(old, state_of(vector["old"]), "a refused diff changes nothing")
        raise AssertionError(vector["kind"])

    def test_keys_are_made_of_exact_values(self) -> None:
        self.assertNotEqual(make_key(1).hash, make_key(1.0).hash)
        self.assertNotEqual(make_key(True).hash, make_key(1).hash)


if __name__ == "__main__":
    unittest.main()
