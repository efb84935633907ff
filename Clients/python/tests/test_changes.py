"""The change feed against a real nestd: every transaction once, in order, across kills."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import unittest
from unittest import mock

import nest
from nest import ChangePoint, ChangeSet, Following, Interrupted, NestError, Progress
from nest.wire import limits

from .model import modelled
from .server import MISSING, Server, until


@unittest.skipIf(MISSING, MISSING)
class ChangeFeed(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.server = Server()
        self.addCleanup(self.server.close)

    async def test_objects_have_names_and_points_are_stored_as_json(self) -> None:
        async with nest.connect(self.server.address, user="Ann") as client:
            items = await client.entity("Item")
            async with client.changes(entities=[items]) as changes:
                following = await changes.__anext__()
                self.assertEqual(following, Following(ChangePoint(following.at.history, 0)))
                step = items.insert(title="Milk")
                receipt = await client.transaction([step], name="buy")
                id = receipt.id(step)
                await client.transaction([items.update(id, title="Bread", done=True)])
                await client.undo()
                await client.transaction([items.delete(id)])
                seen = [await until(changes, ChangeSet) for _ in range(4)]
                summary = [
                    (c.revision, c.kind, [(o.change, o.entity, o.id, o.properties) for o in c.objects]) for c in seen
                ]
                self.assertEqual(
                    summary,
                    [
                        (1, "write", [("inserted", "Item", id, ())]),
                        (2, "write", [("updated", "Item", id, ("title", "done"))]),
                        (3, "undo", [("updated", "Item", id, ("title", "done"))]),
                        (4, "write", [("deleted", "Item", id, ())]),
                    ],
                )
                self.assertEqual((seen[0].name, seen[0].user, seen[0].is_user_claimed), ("buy", "Ann", True))
                self.assertEqual((seen[2].reverted, seen[0].is_last), (2, True))
                stored = json.dumps(dataclasses.asdict(seen[1].at))
            async with client.changes(since=ChangePoint(**json.loads(stored))) as changes:
                self.assertEqual((await until(changes, ChangeSet)).revision, 3)
                self.assertEqual(changes.at and changes.at.revision, 3)
            with self.assertRaises(NestError) as caught:
                await client.changes(entities=["Nothing"]).__anext__()
            self.assertEqual(caught.exception.name, "UNKNOWN_ENTITY")
            with self.assertRaises(NestError) as caught:
                await client.changes(since=ChangePoint("00" * 16, 0)).__anext__()
            self.assertEqual(caught.exception.name, "CONFLICT")
            with self.assertRaises(NestError) as caught:
                client.changes(since=ChangePoint("a history", 0))
            self.assertEqual(caught.exception.name, "INVALID")

    async def test_a_large_transaction_comes_in_parts_and_continues_after_any_of_them(self) -> None:
        async with nest.connect(self.server.address) as client:
            items = await client.entity("Item")
            start = client.changes()
            point = (await start.__anext__()).at
            start.close()
            await client.transaction([items.insert(title="x" * 200, note=str(n)) for n in range(4000)])
            whole: list[ChangeSet] = []
            async with client.changes(since=point) as changes:
                while not whole or not whole[-1].is_last:
                    whole.append(await until(changes, ChangeSet))
            self.assertGreater(len(whole), 2)
            self.assertEqual(sum(len(part.objects) for part in whole), 4000)
            self.assertEqual({part.revision for part in whole}, {1})
            for index, part in enumerate(whole[:-1]):
                async with client.changes(since=part.at) as changes:
                    self.assertEqual(await until(changes, ChangeSet), whole[index + 1])

    async def test_killed_servers_neither_lose_nor_repeat_a_change(self) -> None:
        options = {"reconnect_pause_max": 0.1}
        async with nest.connect(self.server.address, **options) as client, nest.connect(self.server.address) as other:
            items = await client.entity("Item")
            names: list[str] = []
            kinds: set[type] = set()

            async def follow() -> None:
                async with client.changes() as changes:
                    async for change in changes:
                        kinds.add(type(change))
                        if isinstance(change, ChangeSet):
                            names.append(change.name)
                            if change.name == "last":
                                return

            following = asyncio.ensure_future(follow())
            while Following not in kinds:
                await asyncio.sleep(0.01)
            for cycle in range(3):
                writes = [
                    asyncio.ensure_future(other.transaction([items.insert(title="t")], name=f"{cycle}.{n}"))
                    for n in range(40)
                ]
                await writes[10]
                await asyncio.to_thread(self.server.kill)
                await asyncio.to_thread(self.server.start)
                await asyncio.gather(*writes)
            await other.transaction([items.insert(title="t")], name="last")
            await asyncio.wait_for(following, 60)
            self.assertEqual(names, [*(f"{cycle}.{n}" for cycle in range(3) for n in range(40)), "last"])
            self.assertIn(Interrupted, kinds)

    async def test_what_a_slow_loop_does_not_take_waits_at_the_server(self) -> None:
        with mock.patch.object(limits, "CHANGES_WAITING_MAX", 10):
            async with nest.connect(self.server.address) as client:
                items = await client.entity("Item")
                async with client.changes() as changes:
                    await changes.__anext__()
                    for n in range(60):
                        await client.transaction([items.insert(title="t")], name=str(n))
                    self.assertLess(len(changes._waiting), 20)
                    names = [(await until(changes, ChangeSet)).name for _ in range(60)]
                    self.assertEqual(names, [str(n) for n in range(60)])

    async def test_transactions_without_a_requested_object_are_progress(self) -> None:
        server = modelled()
        self.addCleanup(server.close)
        async with nest.connect(server.address) as client:
            things, tags = await client.entity("Thing"), await client.entity("Tag")
            async with client.changes(entities=[tags]) as changes:
                await changes.__anext__()
                await client.transaction([things.insert(title="t")])
                progress = await changes.__anext__()
                self.assertEqual((type(progress), progress.at.revision), (Progress, 1))
                await client.transaction([tags.insert(name="red")])
                self.assertEqual([one.entity for one in (await until(changes, ChangeSet)).objects], ["Tag"])

    def test_the_blocking_face_follows_changes(self) -> None:
        with nest.sync.connect(self.server.address) as client:
            items = client.entity("Item")
            with client.changes() as changes:
                self.assertIsInstance(next(changes), Following)
                client.transaction([items.insert(title="t")], name="one")
                first = next(change for change in changes if isinstance(change, ChangeSet))
                self.assertEqual((first.name, changes.at), ("one", first.at))
            self.assertEqual(list(changes), [])
            with client.changes(since=ChangePoint(first.at.history, 0)) as changes:
                kinds = [type(next(changes)), type(next(changes))]
            self.assertEqual(kinds, [Following, ChangeSet])


if __name__ == "__main__":
    unittest.main()
