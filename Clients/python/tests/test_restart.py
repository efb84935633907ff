"""A server that ends and comes back, killed or stopped: nothing is lost, and subscriptions go on."""

from __future__ import annotations

import asyncio
import unittest
from typing import Any

import nest
from nest import Diff, Interrupted, Resumed

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


if __name__ == "__main__":
    unittest.main()
