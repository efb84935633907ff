"""The client against a real nestd: loopback, a port of its own, a store of its own."""

from __future__ import annotations

import asyncio
import datetime
import decimal
import importlib.util
import secrets
import unittest
import uuid
from typing import Any

import nest
from nest import Diff, Inserted, NestError, Snapshot, Updated
from nest.wire import compression, limits

from .model import modelled
from .server import MISSING, Server, until


@unittest.skipIf(MISSING, MISSING)
class LiveTests(unittest.IsolatedAsyncioTestCase):
    server: Server
    modelled: Server

    @classmethod
    def setUpClass(cls) -> None:
        cls.server = Server()
        cls.modelled = modelled()

    @classmethod
    def tearDownClass(cls) -> None:
        cls.server.close()
        cls.modelled.close()

    async def test_inserts_and_fetches_by_names(self) -> None:
        async with nest.connect(self.server.address) as client:
            items = await client.entity("Item")
            first = items.insert(title="Shopping", under=1)
            milk = items.insert(title="Milk", done=True, under=first)
            eggs = items.insert({"title": "Eggs"}, under=first, place=nest.before(milk))
            receipt = await client.transaction([first, milk, eggs], name="plan")
            self.assertTrue(receipt.is_changed)
            self.assertEqual(receipt.name, "plan")
            shopping = receipt.id(first)
            request = items.children(shopping).properties("title", "done", "parent.title", "children.@count")
            rows = await client.fetch(request)
            self.assertEqual([row["title"] for row in rows], ["Eggs", "Milk"])
            self.assertEqual([row.id for row in rows], [receipt.id(eggs), receipt.id(milk)])
            self.assertEqual(
                rows[1].to_dict(), {"title": "Milk", "done": True, "parent.title": "Shopping", "children.@count": 0}
            )
            self.assertEqual(await client.count(request.where("done == YES").where('title CONTAINS[cd] "mï"')), 1)
            section = request.section("title", "firstCharacter").sorted("title:c")
            self.assertEqual([s.key for s in (await client.fetch(section)).sections], ["E", "M"])
            self.assertEqual((await client.fetch(request.window(1, 5))).position.row, 1)  # type: ignore[union-attr]
            thing = await client.object(shopping)
            self.assertEqual((thing.entity, thing.values["title"], thing.counts), ("Item", "Shopping", {"children": 2}))
            again = await client.transaction([items.update(milk_id, done=False) for milk_id in [receipt.id(milk)]])
            with self.assertRaises(NestError) as caught:
                await client.transaction([items.update(receipt.id(milk), title="x")], expect={receipt.id(milk): 1})
            self.assertEqual(caught.exception.name, "CONFLICT")
            self.assertEqual((await client.history(limit=1))[0].revision, again.revision)

    async def test_every_type_of_value_comes_back_as_it_was_written(self) -> None:
        async with nest.connect(self.modelled.address) as client:
            things = await client.entity("Thing")
            tags = await client.entity("Tag")
            values = {
                "title": "häß\U0001f600",
                "done": True,
                "count": -(2**63),
                "weight": -0.1,
                "price": decimal.Decimal("12.50"),
                "due": datetime.datetime(1969, 12, 31, 23, 59, 59, 999_999, datetime.UTC),
                "code": uuid.UUID(int=7),
                "photo": bytes(range(256)) * 10,
            }
            made, tag = things.insert(values), tags.find_or_create({"name": "red"})
            receipt = await client.transaction([made, tag, things.relate(made, "tags", tag)])
            row = (await client.fetch(tags.things(receipt.id(tag))))[0]
            self.assertEqual({name: row[name] for name in values}, values)
            self.assertEqual([type(row[name]) for name in values], [type(value) for value in values.values()])
            self.assertEqual(row["parent"], nest.Reference(1))
            self.assertFalse(receipt.was_found(tag))
            again = tags.find_or_create({"name": "red"})
            receipt = await client.transaction([again, things.unrelate(row, "tags", again)])
            self.assertTrue(receipt.was_found(again))
            self.assertEqual(await client.count(tags.things(receipt.id(again))), 0)
            for name, value in (("count", True), ("weight", "1"), ("due", 5), ("title", None), ("photo", "x")):
                with self.subTest(name), self.assertRaises(NestError):
                    await client.transaction([things.update(row, {name: value})])

    async def test_quoted_values_are_what_they_are(self) -> None:
        values: dict[str, list[Any]] = {
            "title": [
                "",
                "plain",
                '" OR YES == YES OR title == "',
                "it's \\ \n\t\r",
                "\\",
                '\\"',
                "%@ $x {}",
                "\U0001f600",
            ],
            "done": [True],
            "count": [0, -(2**63), 2**63 - 1],
            "weight": [-0.1, 1e300, 5e-324],
            "price": [decimal.Decimal("-12.5"), decimal.Decimal("1E+3")],
            "due": [datetime.datetime(1969, 12, 31, 23, 59, 59, 1, datetime.UTC), nest.Date(5)],
            "code": [uuid.UUID(int=7)],
            "photo": [b"", bytes(range(256))],
        }
        async with nest.connect(self.modelled.address) as client:
            things = await client.entity("Thing")
            for name, each in values.items():
                for value in each:
                    with self.subTest(name, value=value):
                        step = things.insert({"title": "q", name: value})
                        id = (await client.transaction([step])).id(step)
                        found = await client.fetch(
                            things.where(f"{name} == {nest.quote(value)}").where(f"SELF IN {nest.quote([id])}")
                        )
                        self.assertEqual([row.id for row in found], [id])
                        self.assertEqual(await client.count(things.where(f"SELF == {nest.quote(found[0])}")), 1)
            self.assertEqual(await client.count(things.where(f"title IN {nest.quote([])}")), 0)
        for wrong in (float("nan"), decimal.Decimal("Infinity"), datetime.datetime(2026, 1, 1), object(), {}):
            with self.subTest(wrong), self.assertRaises(NestError):
                nest.quote(wrong)

    async def test_each_text_of_a_request_is_read_by_itself(self) -> None:
        async with nest.connect(self.server.address) as client:
            items = await client.entity("Item")
            with self.assertRaises(NestError) as caught:
                await client.count(items.where("done == NO").where("title == "))
            self.assertEqual(caught.exception.column, 10)
            with self.assertRaises(NestError):
                await client.count(items.where("done == NO) OR (done == YES").where("done == NO"))
            all = await client.count(items.where("TRUEPREDICATE").where("TRUEPREDICATE"))
            self.assertEqual(all, await client.count(items))
            some = items.where("done == NO").where("TRUEPREDICATE").where("done == YES OR title != nil")
            self.assertEqual(await client.count(some), await client.count(items.where("done == NO")))

    @unittest.skipUnless(compression.IS_AVAILABLE, "zstandard is missing")
    async def test_large_answers_come_compressed_and_are_the_same(self) -> None:
        async with nest.connect(self.server.address) as client:
            items = await client.entity("Item")
            list_step = items.insert(title="Long")
            steps = [items.insert(title=f"row {n}", under=list_step) for n in range(2000)]
            receipt = await client.transaction([list_step, *steps])
            assert client._driver and client._driver.machine.welcome
            self.assertTrue(client._driver.machine.welcome["features"] & 16)
            rows = await client.fetch(items.children(receipt.id(list_step)).properties("title"))
            self.assertEqual([row["title"] for row in rows], [f"row {n}" for n in range(2000)])

    @unittest.skipUnless(importlib.util.find_spec("polars"), "polars is missing")
    async def test_rows_become_a_table(self) -> None:
        async with nest.connect(self.modelled.address) as client:
            things = await client.entity("Thing")
            due = datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC)
            steps = [things.insert(title="a", price="1.5", due=due, code=uuid.UUID(int=7)), things.insert(title="b")]
            ids = [(await client.transaction([step])).id(step) for step in steps]
            table = (await client.fetch(things.where(f"SELF IN {{{ids[0]}, {ids[1]}}}").sorted("title"))).to_polars()
            self.assertEqual(table["id"].to_list(), ids)
            self.assertEqual(table["price"].to_list(), [decimal.Decimal("1.5"), None])
            self.assertEqual(table["due"].to_list(), [due, None])
            self.assertEqual(table["parent"].to_list(), [1, 1])
            self.assertEqual(table["code"].to_list(), [str(uuid.UUID(int=7)), None])

    async def test_a_subscription_shows_each_change(self) -> None:
        async with nest.connect(self.server.address) as client, nest.connect(self.server.address) as other:
            items = await client.entity("Item")
            (parent, one) = (items.insert(title="List"), items.insert(title="One"))
            receipt = await client.transaction([parent, one])
            list_id = receipt.id(parent)
            async with client.subscribe(items.children(list_id), properties=["title"], window=range(50)) as changes:
                first = await changes.__anext__()
                self.assertIsInstance(first, Snapshot)
                self.assertEqual(len(first.rows), 0)
                await client.transaction([items.move(receipt.id(one), under=list_id)])
                diff = await until(changes, Diff)
                self.assertIsInstance(diff.events[0], Inserted)
                self.assertEqual(diff.events[0].row["title"], "One")
                self.assertEqual(len(diff.own), 1)
                await other.transaction([(await other.entity("Item")).update(receipt.id(one), title="Two")])
                diff = await until(changes, Diff)
                self.assertEqual((diff.events[0].values, diff.own), ({"title": "Two"}, ()))
                self.assertIsInstance(diff.events[0], Updated)
                await other.transaction([items.delete(receipt.id(one))])
                diff = await until(changes, Diff)
                self.assertEqual((len(diff.rows), diff.events[0].why), (0, "deleted"))

    async def test_equal_subscriptions_share_a_view_and_end_alone(self) -> None:
        async with nest.connect(self.server.address) as client:
            items = await client.entity("Item")
            step = items.insert(title="Shared")
            request = items.children((await client.transaction([step])).id(step))
            one, two = client.subscribe(request), client.subscribe(request)
            self.assertIsInstance(await one.__anext__(), Snapshot)
            self.assertIsInstance(await two.__anext__(), Snapshot)
            one.close()
            again = client.subscribe(request)
            self.assertIsInstance(await again.__anext__(), Snapshot)
            assert request.source
            await client.transaction([items.insert(title="x", under=request.source[0])])
            self.assertEqual(len((await until(two, Diff)).rows), 1)
            self.assertEqual(len((await until(again, Diff)).rows), 1)
            with self.assertRaises(StopAsyncIteration):
                await one.__anext__()

    async def test_undo_redo_and_conflicts(self) -> None:
        session = secrets.token_bytes(16)
        async with nest.connect(self.server.address, session=session) as client:
            items = await client.entity("Item")
            step = items.insert(title="Before")
            object = (await client.transaction([step])).id(step)
            await client.transaction([items.update(object, title="After")], name="rename")
            self.assertEqual((await client.undo()).name, "rename")
            self.assertEqual((await client.object(object)).values["title"], "Before")
            self.assertEqual((await client.redo()).name, "rename")
            state = await client.undo_state()
            self.assertEqual((state.undo and state.undo.name, state.redo), ("rename", None))
            async with nest.connect(self.server.address, user="Ann") as other:
                await other.transaction([items.update(object, title="Theirs")])
            receipt = await client.undo()
            conflicts = [(c.reason, c.entity, c.property) for c in receipt.conflicts]
            self.assertEqual(conflicts, [("edited", "Item", "title")])
            self.assertEqual((receipt.conflicts[0].user, receipt.conflicts[0].is_user_claimed), ("Ann", True))
        async with nest.connect(self.server.address, session=session) as client:
            with self.assertRaises(NestError) as caught:
                await client.undo()
            self.assertEqual(caught.exception.name, "UNDO_CONFLICT")
            self.assertEqual([c.reason for c in (await client.undo(policy="force")).conflicts], ["lost"])
            with self.assertRaises(NestError) as caught:
                await client.undo()
            self.assertEqual(caught.exception.name, "NOTHING_TO_UNDO")

    async def test_steps_may_come_from_a_generator(self) -> None:
        async with nest.connect(self.server.address) as client:
            items = await client.entity("Item")
            box = items.insert(title="box", under=1)
            owner = (await client.transaction(box)).id(box)
            receipt = await client.transaction(items.insert(title=str(number), under=owner) for number in range(3))
            self.assertTrue(receipt.is_changed)
            self.assertEqual([row["title"] for row in await client.fetch(items.children(owner))], ["0", "1", "2"])
            for wrong in ([], (step for step in ()), [items], ["insert"]):
                with self.assertRaises(nest.NestError) as raised:
                    await client.transaction(wrong)  # type: ignore[arg-type]
                self.assertEqual(raised.exception.name, "INVALID")

    async def test_a_wrong_window_is_refused_with_its_reason(self) -> None:
        async with nest.connect(self.server.address) as client:
            items = await client.entity("Item")
            request = items.children(1)
            for offset, limit in ((-5, 3), (0, 2**70), (0, -1), (True, 1), ("0", 1)):
                with self.assertRaisesRegex(nest.NestError, "of a window is a number from 0 on"):
                    request.window(offset, limit)  # type: ignore[arg-type]
            for window in (5, range(0, 10, 2), (0, 5)):
                with self.assertRaisesRegex(nest.NestError, "a window is a range of rows"):
                    client.subscribe(request, window=window)  # type: ignore[arg-type]

    async def test_a_refused_transaction_changes_nothing_and_names_what_is_wrong(self) -> None:
        async with nest.connect(self.server.address) as client:
            items = await client.entity("Item")
            before = await client.count(items)
            with self.assertRaises(NestError) as caught:
                await client.transaction([items.insert(title="fine"), items.insert({"title": None})])
            error = caught.exception
            self.assertEqual((error.name, error.code, error.faults[0].reason), ("VALIDATION_FAILED", 0x303, "required"))
            self.assertEqual(await client.count(items), before)
            with self.assertRaises(NestError) as caught:
                await client.fetch(items.where("title == "))
            self.assertEqual((caught.exception.name, caught.exception.column), ("INVALID_PREDICATE", 10))
            with self.assertRaises(NestError) as caught:
                items.properties("nothing")
            self.assertEqual(caught.exception.name, "UNKNOWN_PROPERTY")
            with self.assertRaises(NestError) as caught:
                await client.subscribe(items.children(2**50)).__anext__()
            self.assertEqual(caught.exception.name, "NOT_FOUND")

    async def test_what_cannot_be_reached_is_an_error(self) -> None:
        with self.assertRaises(NestError) as caught:
            async with nest.connect("127.0.0.1:1"):
                self.fail("nothing listens there")
        self.assertEqual(caught.exception.name, "UNREACHABLE")
        with self.assertRaises(NestError) as caught:
            async with nest.connect(self.server.address, token="nest_1_" + "00" * 32):
                self.fail("there is no such token")
        self.assertEqual(caught.exception.name, "UNAUTHENTICATED")
        with self.assertRaises(NestError) as caught:
            nest.connect("nest.example:7000", token="nest_1_" + "00" * 32)
        self.assertEqual(caught.exception.name, "UNTRUSTED")

    async def test_closing_ends_loops_and_fails_requests(self) -> None:
        client = nest.connect(self.server.address)
        async with client:
            items = await client.entity("Item")
            changes = client.subscribe(items.children(1))
            await changes.__anext__()
            waiting = asyncio.ensure_future(client.fetch(items))
            await asyncio.sleep(0)
        with self.assertRaises(NestError) as caught:
            await waiting
        self.assertEqual(caught.exception.name, "CLOSED")
        with self.assertRaises(StopAsyncIteration):
            await changes.__anext__()
        with self.assertRaises(NestError):
            await client.fetch(items)

    async def test_a_slow_loop_gets_one_snapshot_in_place_of_many_changes(self) -> None:
        async with nest.connect(self.server.address) as client:
            items = await client.entity("Item")
            step = items.insert(title="Busy")
            object = (await client.transaction([step])).id(step)
            changes = client.subscribe(items.children(object).properties("title"))
            self.assertIsInstance(await changes.__anext__(), Snapshot)
            count = limits.CHANGES_WAITING_MAX + 50
            for n in range(count):
                await client.transaction([items.insert(title=str(n), under=object)])
            first = await changes.__anext__()
            assert isinstance(first, Snapshot)
            self.assertEqual((first.reason, len(first.rows) > limits.CHANGES_WAITING_MAX), ("too far behind", True))
            last = first.rows
            while len(last) < count:
                last = (await until(changes, Diff)).rows
            self.assertEqual([row["title"] for row in last], [str(n) for n in range(count)])

    def test_the_blocking_face_has_the_same_names(self) -> None:
        with nest.sync.connect(self.server.address) as client:
            items = client.entity("Item")
            step = items.insert(title="Blocking")
            receipt = client.transaction([step])
            request = items.children(receipt.id(step))
            with client.subscribe(request, properties=["title"]) as changes:
                self.assertIsInstance(next(changes), Snapshot)
                client.transaction([items.insert(title="Inside", under=receipt.id(step))])
                diff = next(change for change in changes if isinstance(change, Diff))
                self.assertEqual([row["title"] for row in diff.rows], ["Inside"])
            self.assertEqual(list(changes), [])
            self.assertEqual(client.undo().name, client.history(limit=2)[1].name)
            self.assertEqual(len(client.fetch(request)), 0)
        with self.assertRaises(NestError):
            client.fetch(request)


if __name__ == "__main__":
    unittest.main()
