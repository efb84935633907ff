"""Large values: against a server that the test plays, and against nestd."""

from __future__ import annotations

import asyncio
import hashlib
import io
import os
import pathlib
import random
import tempfile
import unittest
from typing import Any

import nest
from nest import LargeValue, NestError
from nest.machine import Answered, Failed, Granted, PieceCame, ValueBegan
from nest.rows import _plain
from nest.wire import limits
from nest.wire.hash import FNV_START, fnv1a

from .page import Page, error, frame
from .proxy import ChaosProxy
from .server import MISSING, Server

SEED = int(os.environ.get("NEST_SEED", random.randrange(1_000_000)))
PUT = {"type": "largeData", "length": 5, "digest": bytes(32)}
GET = {"at_least": 0, "object": 2, "property": 3, "offset": 0}
VALUE = bytes(7) + b"\x09" + bytes(7) + b"\x05" + bytes(32)
CREDIT = 1_048_576

MODEL = {
    "format": "nest-model",
    "entities": [
        {
            "name": "Note",
            "root": {"relationship": "parent", "object": 1},
            "attributes": [
                {"name": "title", "type": "string", "default": "", "optional": True},
                {"name": "scan", "type": "largeData", "optional": True},
                {"name": "body", "type": "largeText", "optional": True},
                {"name": "copy", "type": "data", "optional": True},
            ],
            "relationships": [
                {
                    "name": "children",
                    "destination": "Note",
                    "inverse": "parent",
                    "toMany": True,
                    "ordered": True,
                    "deleteRule": "cascade",
                },
                {"name": "parent", "destination": "Note", "inverse": "children", "optional": False},
            ],
        }
    ],
}


def checksum(*bodies: bytes) -> int:
    sum = FNV_START
    for body in bodies:
        sum = fnv1a(body, sum)
    return sum


def chunk(id: int, data: bytes, packing: bytes = b"\0") -> bytes:
    return frame("subtreeChunk", id, packed=packing + data)


class Peer(Page):
    """A server with large values."""

    def __init__(self) -> None:
        super().__init__()
        self.frames: list[tuple[str, int, Any]] = []
        self.ready(features=6 | 1 << 12, credit_bytes_initial=CREDIT)
        self.events()

    def next(self, name: str) -> tuple[int, Any]:
        """The id and the fields of the next frame of the client."""
        self.frames += self.sent()
        found, id, fields = self.frames.pop(0)
        assert found == name, found
        return id, fields


class MachineTests(unittest.TestCase):
    """Without sockets and time."""

    def page(self) -> Peer:
        return Peer()

    def upload(self, page: Peer) -> int:
        return page.machine.call("putValue", "value", PUT, transfer="upload")

    def download(self, page: Peer, **more: Any) -> int:
        return page.machine.call("getValue", "subtreeEnd", GET, transfer="download", **more)

    def test_an_upload_sends_what_is_granted_and_ends_with_count_and_checksum(self) -> None:
        page = self.page()
        number = self.upload(page)
        (id, fields) = page.next("putValue")
        self.assertEqual(fields, PUT)
        self.assertEqual(page.events(), [Granted(number, CREDIT)])
        self.assertTrue(page.machine.send_piece(number, b"abc"))
        self.assertTrue(page.machine.send_piece(number, b"de"))
        page.machine.end_upload(number)
        self.assertEqual(page.next("subtreeChunk"), (id, {"packed": b"\0abc"}))
        self.assertEqual(page.next("subtreeChunk"), (id, {"packed": b"\0de"}))
        end = {"row_count": 5, "checksum": checksum(b"\0abc", b"\0de")}
        self.assertEqual(page.next("subtreeEnd"), (id, end))
        page.get(frame("credit", id, bytes=7))
        self.assertEqual(page.events(), [Granted(number, 7)])
        page.get(frame("value", id, revision=0, type="largeData", value=VALUE))
        answer = {"revision": 0, "type": "largeData", "value": VALUE}
        self.assertEqual(page.events(), [Answered(number, answer)])
        self.assertFalse(page.machine.send_piece(number, b"f"))
        # It was on its way when the answer came.
        page.get(frame("credit", id, bytes=7))
        self.assertEqual(page.events(), [])

    def test_an_upload_never_sends_more_than_was_granted(self) -> None:
        page = self.page()
        number = self.upload(page)
        with self.assertRaises(NestError) as caught:
            page.machine.send_piece(number, bytes(CREDIT))
        self.assertEqual(caught.exception.name, "FLOW_CONTROL")

    def test_a_download_grants_what_the_program_has_taken(self) -> None:
        page = self.page()
        number = self.download(page)
        (id, _) = page.next("getValue")
        page.get(frame("value", id, revision=8, type="largeText", value=VALUE))
        page.get(chunk(id, b"ab") + chunk(id, b"cde"))
        fields = {"revision": 8, "type": "largeText", "value": VALUE}
        expected = [ValueBegan(number, fields), PieceCame(number, b"ab"), PieceCame(number, b"cde")]
        self.assertEqual(page.events(), expected)
        page.machine.taken(number, 2)
        page.machine.taken(number, CREDIT // 4 - 10)
        self.assertEqual(page.sent(), [])
        page.machine.taken(number, 100)
        self.assertEqual(page.next("credit"), (id, {"bytes": CREDIT // 4 - 10 + 102 + 3}))
        page.get(frame("subtreeEnd", id, row_count=5, checksum=0))
        self.assertEqual(page.events(), [Answered(number, {"row_count": 5, "checksum": 0})])

    def test_a_download_that_is_cut_short_or_damaged_fails(self) -> None:
        sums = {"checksum": FNV_START}
        for more, rows, sum, name in (
            ({}, 4, 0, "CHECKSUM"),
            (sums, 5, 1, "CHECKSUM"),
            (sums, 5, checksum(b"\0abcde"), None),
            ({}, 5, 1, None),
        ):
            with self.subTest(rows=rows, sum=sum):
                page = self.page()
                number = self.download(page, **more)
                (id, _) = page.next("getValue")
                page.get(chunk(id, b"abcde") + frame("subtreeEnd", id, row_count=rows, checksum=sum))
                last = page.events()[-1]
                self.assertEqual(last.error.name if isinstance(last, Failed) else None, name)
                self.assertEqual(last.call, number)  # type: ignore[union-attr]

    def test_what_the_server_may_not_send_ends_the_connection(self) -> None:
        for wrong in (chunk(1, b"a", b"\1"), chunk(1, b"a", b""), *[chunk(1, bytes(600_000)) * 2]):
            page = self.page()
            self.download(page)
            page.next("getValue")
            page.get(wrong)
            self.assertTrue(page.machine.wants_close)

    def test_a_lost_connection_fails_what_was_sent_and_keeps_what_waits(self) -> None:
        for stops in (
            lambda page: page.lose(),
            lambda page: page.get(frame("goAway", code="SHUTTING_DOWN", last_request_id=0, retry_after=0, message="")),
            lambda page: page.get(error(1, "SHUTTING_DOWN", 4)),
        ):
            for begin in (self.upload, self.download):
                page = self.page()
                number = begin(page)
                page.events()
                stops(page)
                failed = [event for event in page.events() if isinstance(event, Failed)]
                self.assertEqual([(event.call, event.error.name) for event in failed], [(number, "CONNECTION_LOST")])
                if begin == self.upload:
                    self.assertIn("send it again", failed[0].error.text)

    def test_a_program_that_leaves_cancels(self) -> None:
        page = self.page()
        number = self.download(page)
        (id, _) = page.next("getValue")
        page.machine.abandon(number)
        self.assertEqual(page.next("cancel"), (id, {}))
        page.get(frame("value", id, revision=8, type="largeText", value=VALUE) + chunk(id, b"abcde"))
        page.get(error(id, "CANCELLED", 1))
        self.assertEqual(page.events(), [])
        self.assertFalse(page.machine.wants_close)


def bytes_of(count: int, seed: int = 1) -> bytes:
    return random.Random(seed).randbytes(count)


@unittest.skipIf(MISSING, MISSING)
class LiveTests(unittest.IsolatedAsyncioTestCase):
    server: Server

    @classmethod
    def setUpClass(cls) -> None:
        cls.server = Server(model=MODEL)

    @classmethod
    def tearDownClass(cls) -> None:
        cls.server.close()

    async def note(self, client: nest.Client) -> tuple[nest.Entity, int]:
        notes = await client.entity("Note")
        step = notes.insert(title="A", under=1)
        return notes, (await client.transaction(step)).id(step)

    async def assertCode(self, name: str, work: Any) -> None:
        with self.assertRaises(NestError) as caught:
            await work
        self.assertEqual(caught.exception.name, name, caught.exception.text)

    async def test_values_of_every_source_and_size_are_read_as_they_were_sent(self) -> None:
        async with nest.connect(self.server.address) as client:
            notes, note = await self.note(client)
            for size in (0, 1, 65_535, 65_536, 65_537, 1_200_000):
                data = bytes_of(size, size)
                for source in (data, bytearray(data), memoryview(data), io.BytesIO(data), memoryview(data + b"x")[:-1]):
                    steps: list[tuple[int, int]] = []
                    sent = await client.send_value(
                        notes, "scan", source, progress=lambda done, all: steps.append((done, all))
                    )
                    self.assertEqual((sent.length, sent.sha256), (size, hashlib.sha256(data).hexdigest()))
                    self.assertEqual(steps[-1:], [(size, size)] if size else [])
                    receipt = await client.transaction(notes.update(note, scan=sent))
                    read = await client.read_value(notes, note, "scan", at_least=receipt.revision)
                    self.assertEqual(read, data)
                    file = io.BytesIO()
                    self.assertEqual(await client.save_value(notes, note, "scan", file), sent)
                    self.assertEqual(file.getvalue(), data)
            for text in ("", "ä€😀" * 50_000):
                for source in (text, io.StringIO(text)):
                    sent = await client.send_value(notes, "body", source)
                    await client.transaction(notes.update(note, body=sent))
                    self.assertEqual(await client.read_text(notes, note, "body"), text)

    async def test_the_largest_value_goes_through_and_one_byte_more_is_refused(self) -> None:
        data = bytes_of(limits.LARGE_VALUE_BYTES_MAX)
        async with nest.connect(self.server.address) as client:
            notes, note = await self.note(client)
            sent = await client.send_value(notes, "scan", data)
            await client.transaction(notes.update(note, scan=sent))
            with tempfile.TemporaryFile() as file:
                self.assertEqual(await client.save_value(notes, note, "scan", file), sent)
                file.seek(0)
                self.assertEqual(hashlib.file_digest(file, "sha256").hexdigest(), sent.sha256)
            self.assertEqual(await client.read_value(notes, note, "scan", offset=len(data) - 3), data[-3:])
            for source in (data + b"x", io.BytesIO(data + b"x"), "x" * (len(data) + 1)):
                await self.assertCode("VALUE_TOO_LARGE", client.send_value(notes, "scan", source))

    async def test_rows_have_the_description_and_data_that_looks_like_one_is_data(self) -> None:
        async with nest.connect(self.server.address) as client:
            notes, note = await self.note(client)
            sent = await client.send_value(notes, "scan", b"abc")
            self.assertEqual(sent, LargeValue(sent.id, 3, hashlib.sha256(b"abc").hexdigest()))
            child = notes.insert(under=note)
            await client.transaction([notes.update(note, scan=sent, copy=sent.to_bytes()), child])
            row = (await client.fetch(notes.where(f"SELF == {note}")))[0]
            self.assertEqual((row["scan"], row["body"], row["copy"]), (sent, None, sent.to_bytes()))
            below = (await client.fetch(notes.children(note).properties("parent.scan", "parent.copy")))[0]
            self.assertEqual((below["parent.scan"], below["parent.copy"]), (sent, sent.to_bytes()))
            self.assertEqual((await client.object(note)).values["scan"], sent)
            async with client.subscribe(notes.where(f"SELF == {note}"), properties=["scan"]) as changes:
                first = await anext(changes)
                assert isinstance(first, nest.Snapshot)
                self.assertEqual(first.rows[0]["scan"], sent)
                other = await client.send_value(notes, "scan", b"")
                await client.transaction(notes.update(note, scan=other))
                second = await anext(changes)
                assert isinstance(second, nest.Diff) and isinstance(second.events[0], nest.Updated)
                self.assertEqual((second.events[0].values, second.rows[0]["scan"]), ({"scan": other}, other))
            await client.undo()
            self.assertEqual((await client.object(note)).values["scan"], sent)
            self.assertEqual(_plain(sent), {"id": sent.id, "length": 3, "sha256": sent.sha256})

    async def test_what_cannot_be_is_refused_by_its_code(self) -> None:
        async with nest.connect(self.server.address) as client:
            notes, note = await self.note(client)
            for name in ("title", "copy", "parent", "children"):
                await self.assertCode("INVALID", client.send_value(notes, name, b""))
                await self.assertCode("INVALID", client.read_value(notes, note, name))
            await self.assertCode("UNKNOWN_PROPERTY", client.send_value(notes, "scans", b""))
            wrong: Any
            for wrong in (None, 5, ["a"], object()):
                await self.assertCode("INVALID", client.send_value(notes, "scan", wrong))
            wrong = "Note"
            await self.assertCode("INVALID", client.send_value(wrong, "scan", b""))
            for text in ("a\0b", b"a\0b", b"\xff"):
                await self.assertCode("INVALID_TEXT", client.send_value(notes, "body", text))
            await self.assertCode("NOT_FOUND", client.read_value(notes, note, "scan"))
            await self.assertCode("NOT_FOUND", client.read_value(notes, 2**50, "scan"))
            await self.assertCode("INVALID", client.read_value(notes, 0, "scan"))
            sent = await client.send_value(notes, "scan", b"\xff")
            await client.transaction(notes.update(note, scan=sent))
            # A value is set once, in an attribute of its own type.
            await self.assertCode("VALIDATION_FAILED", client.transaction(notes.update(note, body=sent)))
            await self.assertCode("VALIDATION_FAILED", client.transaction(notes.insert(scan=sent, under=1)))
            for value in (b"abc", sent.to_bytes(), "abc", 5):
                with self.assertRaises(NestError) as caught:
                    notes.update(note, scan=value)
                self.assertEqual(caught.exception.name, "INVALID")
            await self.assertCode("INVALID", client.read_value(notes, note, "scan", offset=2))
            for wrong in (-1, True, 0.5):
                await self.assertCode("INVALID", client.read_value(notes, note, "scan", offset=wrong))
            await self.assertCode("INVALID_TEXT", client.read_text(notes, note, "scan"))

    async def test_programs_that_leave_their_transfers_free_their_places(self) -> None:
        data = bytes_of(3_000_000)

        class Full(io.BytesIO):
            def write(self, data: Any) -> int:
                if self.tell() > 500_000:
                    raise OSError("the disk is full")
                return super().write(data)

        async with nest.connect(self.server.address) as client:
            notes, note = await self.note(client)
            sent = await client.send_value(notes, "scan", data)
            await client.transaction(notes.update(note, scan=sent))

            def stop(done: int, _: int) -> None:
                if done > 1_000_000:
                    raise KeyError("the program has enough")

            for _ in range(5):
                with self.assertRaises(KeyError):
                    await client.read_value(notes, note, "scan", progress=stop)
                with self.assertRaises(KeyError):
                    await client.send_value(notes, "scan", data, progress=stop)
                with self.assertRaises(OSError):
                    await client.save_value(notes, note, "scan", Full())
                for work in (client.read_value(notes, note, "scan"), client.send_value(notes, "scan", data)):
                    task = asyncio.ensure_future(work)
                    await asyncio.sleep(0)
                    await asyncio.sleep(0)
                    task.cancel()
                    with self.assertRaises(asyncio.CancelledError):
                        await task
            both = await asyncio.gather(*[client.read_value(notes, note, "scan") for _ in range(4)])
            self.assertEqual([one == data for one in both], [True] * 4)
            self.assertEqual(client._driver._transfers, {})  # type: ignore[union-attr]

    async def test_an_upload_can_be_made_again_and_a_download_goes_on(self) -> None:
        data = bytes_of(4_000_000)
        async with ChaosProxy(lambda: self.server.port, random.Random(1)) as proxy:
            address = f"127.0.0.1:{proxy.port}"
            async with (
                nest.connect(address, reconnect_pause_max=0.05) as client,
                nest.connect(self.server.address) as direct,
            ):
                loop = asyncio.get_running_loop()
                tasks: list[asyncio.Task[None]] = []
                notes, note = await self.note(direct)
                cuts = 0

                def cut(done: int, _: int) -> None:
                    nonlocal cuts
                    if cuts < 3 and done > 500_000 * (cuts + 1):
                        cuts += 1
                        tasks.append(loop.create_task(proxy.break_all()))

                with self.assertRaises(NestError) as caught:
                    await client.send_value(notes, "scan", data, progress=cut)
                self.assertEqual(caught.exception.name, "CONNECTION_LOST")
                self.assertIn("send it again", caught.exception.text)
                cuts = 3
                sent = await client.send_value(notes, "scan", data)
                await client.transaction(notes.update(note, scan=sent))
                cuts = 0
                self.assertEqual(await client.read_value(notes, note, "scan", progress=cut), data)
                self.assertEqual(cuts, 3)
                other = await direct.send_value(notes, "scan", data[:10])

                class Slow(io.BytesIO):
                    """Another value takes the place of the one that is read, and the connection is lost."""

                    is_first = True

                    def write(self, data: Any) -> int:
                        if self.is_first:
                            work = direct.transaction(notes.update(note, scan=other))
                            asyncio.run_coroutine_threadsafe(work, loop).result()
                            asyncio.run_coroutine_threadsafe(proxy.break_all(), loop).result()
                        self.is_first = False
                        return super().write(data)

                await self.assertCode("CONFLICT", client.save_value(notes, note, "scan", Slow()))

    async def test_random_reads_and_writes_agree_with_a_dictionary(self) -> None:
        print(f"NEST_SEED={SEED}")
        draw = random.Random(SEED)
        held: dict[tuple[int, str], bytes] = {}
        async with nest.connect(self.server.address) as client:
            objects = [await self.note(client) for _ in range(4)]
            notes = objects[0][0]
            for _ in range(int(os.environ.get("NEST_STEPS", 40))):
                note, name = draw.choice(objects)[1], draw.choice(["scan", "body"])
                match draw.randrange(4):
                    case 0 | 1:
                        text = "".join(draw.choices("aé€😀\n", k=draw.randrange(60_000)))
                        data = text.encode() if name == "body" else draw.randbytes(draw.randrange(200_000))
                        sent = await client.send_value(notes, name, data)
                        await client.transaction(notes.update(note, {name: sent}))
                        held[note, name] = data
                    case 2:
                        await client.transaction(notes.update(note, {name: None}))
                        held.pop((note, name), None)
                    case _ if (note, name) in held:
                        data = held[note, name]
                        offset = draw.randrange(len(data) + 1)
                        read = await client.read_value(notes, note, name, offset=offset)
                        self.assertTrue(read == data[offset:], f"NEST_SEED={SEED}")
                    case _:
                        await self.assertCode("NOT_FOUND", client.read_value(notes, note, name))

    def test_a_program_that_blocks_sends_and_reads_files(self) -> None:
        with tempfile.TemporaryDirectory() as directory, nest.sync.connect(self.server.address) as client:
            path = pathlib.Path(directory, "scan")
            path.write_bytes(bytes_of(300_000))
            notes = client.entity("Note")
            with path.open("rb") as file:
                step = notes.insert(under=1, scan=client.send_value(notes, "scan", file))
            note = client.transaction(step).id(step)
            self.assertEqual(client.read_value(notes, note, "scan"), path.read_bytes())
            with pathlib.Path(directory, "copy").open("wb", buffering=0) as copy:
                client.save_value(notes, note, "scan", copy)
            self.assertEqual(pathlib.Path(directory, "copy").read_bytes(), path.read_bytes())
            client.transaction(notes.update(note, body=client.send_value(notes, "body", "text")))
            self.assertEqual(client.read_text(notes, note, "body"), "text")
