"""Reserved ids, and places near a gap."""

from __future__ import annotations

import asyncio
import unittest
from typing import Any
from unittest import mock

import nest
from nest import NestError
from nest.model import make_model
from nest.transactions import make_transaction

from .page import attribute, entity
from .server import MISSING, Server


def relationship(number: int, name: str, inverse: int, is_to_many: bool) -> dict[str, Any]:
    fields = {"number": number, "name": name, "destination": 1, "inverse": inverse, "is_to_many": is_to_many}
    return {
        **fields,
        **{"is_ordered": is_to_many, "is_optional": True, "delete_rule": "nullify"},
        **{"minimum_count": 0, "maximum_count": 0, "join": None},
    }


class Steps(unittest.TestCase):
    def setUp(self) -> None:
        relationships = [relationship(10, "parent", 11, False), relationship(11, "children", 10, True)]
        things = entity(1, "Thing", attribute(1, "title"), attribute(2, "as_id"), relationships=relationships)
        model = make_model(5, {"entities": [things]})
        self.things = nest.Entity(model, model.entity("Thing"))

    def mutations(self, *steps: nest.Step) -> list[Any]:
        mutations: list[Any] = make_transaction(steps, bytes(16), "", {}, None)["mutations"]
        return mutations

    def test_an_insert_with_an_id_counts_as_an_insert_for_later_steps(self) -> None:
        first = self.things.insert({"as_id": "a property"}, as_id=90)
        second = self.things.insert(title="b", under=first, place=nest.near(7, first))
        moved = self.things.move(5, under=second, place=nest.near(None, nest.Reference(6)))
        related = self.things.relate(5, "children", second, nest.near())
        (name, made), (_, inner), (_, move), (_, relate) = self.mutations(first, second, moved, related)
        self.assertEqual((name, made["object"], made["placements"]), ("insertAs", 90, []))
        self.assertEqual(made["values"], [{"property": 2, "what": ("value", "a property")}])
        placement = {"relationship": 10, "owner": -1, "place": ("near", {"left": 7, "right": -1})}
        self.assertEqual(inner["placements"], [placement])
        self.assertEqual((move["object"], move["placement"]["owner"]), (5, -2))
        self.assertEqual(move["placement"]["place"], ("near", {"left": None, "right": 6}))
        self.assertEqual(relate["place"], ("near", {"left": None, "right": None}))

    def test_no_member_hides_a_relationship_with_the_name_of_a_word_of_the_library(self) -> None:
        relationships = [
            relationship(number, name, number + 10, True) for number, name in ((10, "kind"), (11, "check_kind"))
        ] + [relationship(20, "one", 10, False), relationship(21, "other", 11, False)]
        model = make_model(5, {"entities": [entity(1, "Thing", relationships=relationships)]})
        things = nest.Entity(model, model.entity("Thing"))
        self.assertEqual(things.kind(7).source, (7, 10))
        self.assertEqual(things.check_kind(7).source, (7, 11))

    def test_what_is_no_id_is_refused(self) -> None:
        for wrong in (0, -1, True, "90", 2**53):
            with self.subTest(wrong), self.assertRaises(NestError) as caught:
                self.things.insert(as_id=wrong)  # type: ignore[arg-type]
            self.assertEqual(caught.exception.name, "INVALID")
        with self.assertRaises(NestError):
            self.things.insert(as_id=90, place=nest.near(5))
        with self.assertRaises(NestError):
            self.mutations(self.things.move(5, under=1, place=nest.near(0)))


@unittest.skipIf(MISSING, MISSING)
class Live(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.server = Server()
        self.addCleanup(self.server.close)

    async def titles(self, client: nest.Client) -> list[str]:
        items = await client.entity("Item")
        return [row["title"] for row in await client.fetch(items.children(1).properties("title"))]

    async def test_inserts_go_near_a_gap_also_when_a_neighbour_was_deleted(self) -> None:
        async with nest.connect(self.server.address) as client:
            items = await client.entity("Item")
            a, b, c, d, e = await client.reserve_ids(5)
            steps = [items.insert(title=title, as_id=id) for id, title in ((a, "a"), (b, "b"), (c, "c"))]
            receipt = await client.transaction(steps)
            self.assertEqual([receipt.id(step) for step in steps], [a, b, c])
            await client.transaction(items.delete(b))
            await client.transaction(items.insert(title="d", under=1, place=nest.near(b, c), as_id=d))
            self.assertEqual(await self.titles(client), ["a", "d", "c"])
            await client.transaction(items.insert(title="e", under=1, place=nest.near(b, 99_999), as_id=e))
            self.assertEqual(await self.titles(client), ["a", "d", "c", "e"])
            await client.transaction(items.move(e, under=1, place=nest.near(a, d)))
            self.assertEqual(await self.titles(client), ["a", "e", "d", "c"])

    async def test_an_id_is_used_once_and_by_its_session_only(self) -> None:
        async with nest.connect(self.server.address) as client, nest.connect(self.server.address) as other:
            items = await client.entity("Item")
            (used, free) = await client.reserve_ids(2)
            await client.transaction(items.insert(title="a", as_id=used))
            for one, id in ((client, used), (other, free), (client, free + 1)):
                with self.subTest(id=id), self.assertRaises(NestError) as caught:
                    await one.transaction(items.insert(title="b", as_id=id))
                self.assertEqual(caught.exception.name, "INVALID")
            plain = items.insert(title="c")
            self.assertGreater((await other.transaction(plain)).id(plain), free)
            for count, name in ((0, "INVALID"), (-1, "INVALID"), (65_537, "LIMIT_EXCEEDED"), (True, "INVALID")):
                with self.subTest(count), self.assertRaises(NestError) as caught:
                    await client.reserve_ids(count)
                self.assertEqual(caught.exception.name, name)

    async def test_ids_outlive_a_killed_server_and_the_client_that_reserved_them(self) -> None:
        async with nest.connect(self.server.address) as client:
            items = await client.entity("Item")
            first, second = await client.reserve_ids(2)
            await asyncio.to_thread(self.server.kill)
            await asyncio.to_thread(self.server.start)
            await client.transaction(items.insert(title="a", as_id=first))
            session = client.session
        async with nest.connect(self.server.address, session=session) as client:
            items = await client.entity("Item")
            await client.transaction(items.insert(title="b", as_id=second))
            self.assertEqual(await self.titles(client), ["a", "b"])

    async def test_another_number_of_ids_is_a_mistake_of_the_server(self) -> None:
        async with nest.connect(self.server.address) as client:
            answer = mock.AsyncMock(return_value={"first": 90, "count": 2})
            with mock.patch.object(client._running, "call", answer), self.assertRaises(NestError) as caught:
                await client.reserve_ids(3)
            self.assertEqual(caught.exception.name, "PROTOCOL")

    def test_without_asyncio(self) -> None:
        with nest.sync.connect(self.server.address) as client:
            items = client.entity("Item")
            ids = client.reserve_ids(2)
            self.assertEqual(len(ids), 2)
            step = items.insert(title="a", as_id=ids[0])
            self.assertEqual(client.transaction(step).id(step), ids[0])


if __name__ == "__main__":
    unittest.main()
