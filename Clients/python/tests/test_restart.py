"""A server that ends and comes back, killed or stopped: nothing is lost, and subscriptions go on."""

from __future__ import annotations

import asyncio
import copy
import unittest
from typing import Any

import nest
from nest import ChangeSet, Diff, Following, Interrupted, NestError, Resumed, Snapshot

from .model import MODEL
from .server import MISSING, Server, until


@unittest.skipIf(MISSING, MISSING)
class RestartTests(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.server = Server()
        self.addCleanup(self.server.close)

    async def interrupted_by(self, end: Any) -> None:
        async with nest.connect(self.server.address) as client, nest.connect(self.server.address) as other:
            items = await client.entity("Item")
            changes = client.subscribe(items.children(1).properties("title"))
            await changes.__anext__()
            await client.transaction([items.insert(title="before")])
            rows = (await until(changes, Diff)).rows
            await asyncio.to_thread(end)
            self.assertIsInstance(await until(changes, Interrupted), Interrupted)
            writes = [other.transaction([items.insert(title=f"during {n}")]) for n in range(5)]
            waiting = [asyncio.ensure_future(one) for one in writes]
            await asyncio.sleep(0)
            await asyncio.to_thread(self.server.start)
            receipts = await asyncio.gather(*waiting)
            self.assertEqual(len({receipt.revision for receipt in receipts}), 5)
            resumed = await until(changes, Resumed)
            self.assertLessEqual(len(rows), len(resumed.rows))
            last = resumed.rows
            while len(last) < 6:
                last = (await until(changes, Diff)).rows
            fresh = await client.fetch(items.children(1).properties("title"))
            self.assertEqual([row.to_dict() for row in last], [row.to_dict() for row in fresh])
            self.assertEqual([row["title"] for row in last], ["before", *(f"during {n}" for n in range(5))])

    async def test_a_killed_server_loses_nothing_and_the_subscription_resumes(self) -> None:
        await self.interrupted_by(self.server.kill)

    async def test_a_server_that_stops_says_goodbye_and_the_subscription_resumes(self) -> None:
        await self.interrupted_by(self.server.stop)


def extended() -> Any:
    """MODEL with another attribute before the others, another entity before the others, and tags that are labels."""
    model: Any = copy.deepcopy(MODEL)
    model["entities"][0]["attributes"].insert(0, {"name": "aim", "type": "string", "optional": True})
    model["entities"].insert(0, {"name": "Person", "attributes": [{"name": "name", "type": "string"}]})
    color = {"name": "color", "type": "string"}
    model["entities"].append({"name": "Label", "parent": "Tag", "attributes": [color]})
    return model


def renamed() -> Any:
    """What extends no model that has `done`."""
    model = extended()
    (done,) = [one for one in model["entities"][1]["attributes"] if one["name"] == "done"]
    done.update(name="finished", renamedFrom="done")
    return model


@unittest.skipIf(MISSING, MISSING)
class ModelTests(unittest.IsolatedAsyncioTestCase):
    """A server that comes back with another model, on the same port and with the same store."""

    def setUp(self) -> None:
        self.server = Server(model=MODEL)
        self.addCleanup(self.server.close)

    async def restart(self, model: Any) -> None:
        await asyncio.to_thread(self.server.kill)
        self.server.change_model(model)
        await asyncio.to_thread(self.server.start)

    async def test_an_extension_lets_subscriptions_go_on_and_another_model_ends_them(self) -> None:
        async with nest.connect(self.server.address) as client:
            things, tags = await client.entity("Thing"), await client.entity("Tag")
            await client.transaction([things.insert(title="one", under=1), tags.insert(name="a")])
            whole, named = things.children(1).where("done == NO"), tags.sorted("name").properties("name", "@entity")
            rows, kinds, feed = client.subscribe(whole), client.subscribe(named), client.changes()
            names = (await until(rows, Snapshot)).rows[0].keys()
            await until(kinds, Snapshot)
            await until(feed, Following)

            await self.restart(extended())
            seen = [await until(rows, Resumed)]
            # Steps of both models in one transaction, and then of the old one alone.
            labels = await client.entity("Label")
            label = labels.insert(name="b", color="red")
            receipt = await client.transaction([things.insert(title="two", under=1), label])
            await client.transaction([things.insert(title="three", under=1), tags.insert(name="c")])
            while len(seen[-1].rows) < 3:
                seen.append(await until(rows, (Diff, Snapshot)))
            self.assertEqual({type(one) for one in seen}, {Resumed, Diff}, "there was another snapshot")
            self.assertEqual([row["title"] for row in seen[-1].rows], ["one", "two", "three"])
            self.assertEqual({tuple(row.keys()) for row in seen[-1].rows}, {tuple(names)})
            tagged = await until(kinds, Resumed)
            while len(tagged.rows) < 3:
                tagged = await until(kinds, (Diff, Snapshot))
                self.assertIsInstance(tagged, Diff)
            expected = [("a", "Tag"), ("b", "Label"), ("c", "Tag")]
            for found in (tagged.rows, await client.fetch(named)):
                self.assertEqual([(row["name"], row["@entity"]) for row in found], expected)
            self.assertEqual((await client.fetch(whole))[0].keys(), names)
            self.assertEqual((await client.object(receipt.id(label))).entity, "Label")
            change = await until(feed, ChangeSet)
            self.assertEqual({one.entity for one in change.objects if one.change == "inserted"}, {"Thing", "Label"})
            new = await client.entity("Thing")
            self.assertIs(new.model, await client.model())
            self.assertIn("aim", (await client.fetch(new.children(1)))[0].keys())

            await self.restart(renamed())
            for one in (rows, kinds, feed):
                with self.assertRaises(NestError) as failed:
                    async for _ in one:
                        pass
                self.assertEqual(failed.exception.name, "SCHEMA_CHANGED")
            for request in (whole, new.children(1)):
                with self.assertRaises(NestError) as failed:
                    await client.fetch(request)
                self.assertEqual(failed.exception.name, "SCHEMA_CHANGED")
            last = await client.entity("Thing")
            self.assertEqual(await client.count(last.children(1).where("finished == NO")), 3)

    async def test_a_running_server_gets_a_model_that_has_more(self) -> None:
        async with nest.connect(self.server.address) as client:
            things = await client.entity("Thing")
            await client.transaction([things.insert(title="one", under=1)])
            rows = client.subscribe(things.children(1).where("done == NO"))
            names = (await until(rows, Snapshot)).rows[0].keys()
            model = extended()
            # A running server adds no entity below an old one.
            model["entities"].pop()
            self.server.change_model(model)
            (applied,) = await self.server.nestc("model", "apply", str(self.server.model_file))
            self.assertEqual(applied["outcome"], "applied")
            await self.server.nestc("insert", "Thing", "title=two", "aim=here")
            await client.transaction([things.insert(title="three", under=1)])
            seen = [await until(rows, Resumed)]
            while len(seen[-1].rows) < 3:
                seen.append(await until(rows, (Diff, Snapshot)))
            self.assertNotIn(Snapshot, {type(one) for one in seen})
            self.assertEqual([row["title"] for row in seen[-1].rows], ["one", "two", "three"])
            self.assertEqual({tuple(row.keys()) for row in seen[-1].rows}, {tuple(names)})
            new = await client.entity("Thing")
            found = await client.fetch(new.children(1).where("aim == 'here'").properties("title", "aim"))
            self.assertEqual([(row["title"], row["aim"]) for row in found], [("two", "here")])
            persons = await client.entity("Person")
            await client.transaction([persons.insert(name="Ann")])
            self.assertEqual(await client.count(persons.sorted("name")), 1)


if __name__ == "__main__":
    unittest.main()
