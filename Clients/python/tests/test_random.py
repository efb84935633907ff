@unittest.skipIf(MISSING, MISSING)
class RandomHistory(unittest.IsolatedAsyncioTestCase):
    """After every diff the rows of the client equal a fresh fetch, and the digest agrees."""

    async def test_a_random_history(self) -> None:
        seed = int(os.environ.get("NEST_SEED", random.SystemRandom().randrange(2**32)))
        print(f"NEST_SEED={seed}", flush=True)
        server = Server()
        self.addCleanup(server.close)
        chance = random.Random(seed)
        async with nest.connect(server.address) as client:
            items = await client.entity("Item")
            requests = [
                items.children(1).properties("title", "done", "children.@count"),
                items.sorted("title:c", "-done")
                .properties("title", "done", "parent.title")
                .section("title", "firstCharacter"),
                items.where("done == YES").sorted("-title").window(2, 5),
            ]
            followed = [client.subscribe(request) for request in requests]
            for one in followed:
                await one.__anext__()
            ids = [1]
            for _ in range(int(os.environ.get("NEST_STEPS", 120))):
                if chance.random() < 0.05:
                    await self.cut(client, server, requests, followed, chance, ids)
                receipt = await self.step(client, items, chance, ids)
                for request, one in zip(requests, followed, strict=True):
                    # The receipt comes after the diffs of its revision.
                    rows, fresh = one.rows, await client.fetch(request)
                    assert rows is not None
                    self.assertEqual(self.shown(rows), self.shown(fresh), f"seed {seed}, revision {receipt}")
                    self.assertEqual(rows.digest, fresh.digest)
                    self.assertEqual(rows.position is None, fresh.position is None)
                    if rows.position and fresh.position and len(rows) > 0:
                        # The size of the whole may come later, by TOTALS; where the rows begin may not.
                        self.assertEqual(rows.position.row, fresh.position.row)
            for one in followed:
                one.close()

    async def cut(
        self, client: nest.Client, server: Server, requests: Any, followed: Any, chance: random.Random, ids: list[int]
    ) -> None:
        """Cuts the connection while another client writes, and waits until all subscriptions are right again."""
        assert client._driver and client._driver._transport
        # Pauses double with each loss of a young connection.
        client._driver.machine._backoff = Backoff(lambda: 0.0)
        client._driver._transport.abort()
        async with nest.connect(server.address) as other:
            await self.step(other, await other.entity("Item"), chance, ids)
            async with asyncio.timeout(60):
                for request, one in zip(requests, followed, strict=True):
                    # Changes that nobody has taken may have become one snapshot.
                    await until(one, (Interrupted, Snapshot))
                    fresh = await other.fetch(request)
                    while self.shown(one.rows) != self.shown(fresh):
                        await one.__anext__()

    def shown(self, rows: nest.Rows) -> Any:
        return [(s.key, [(row.id, row.to_dict()) for row in s.rows]) for s in rows.sections]

    async def step(self, client: nest.Client, items: nest.Entity, chance: random.Random, ids: list[int]) -> Any:
        def title() -> str:
            return chance.choice("abcäÄZé") + chance.choice("xyz ") * chance.randrange(4)

        steps = []
        for _ in range(chance.choice((1, 1, 2, 5))):
            kind = chance.choice(("insert", "insert", "update", "update", "move", "delete"))
            object = chance.choice(ids)
            place = chance.choice((None, nest.FIRST))
            if kind == "insert" or object == 1:
                under = chance.choice((1, object))
                steps.append(items.insert(title=title(), done=chance.random() < 0.5, under=under, place=place))
            elif kind == "update":
                steps.append(items.update(object, title=title(), done=chance.random() < 0.5))
            elif kind == "move":
                steps.append(items.move(object, under=chance.choice(ids), place=place))
            else:
                steps.append(items.delete(object))
        try:
            if chance.random() < 0.15:
                return await client.undo(policy=chance.choice(("keep", "force")))
            if chance.random() < 0.1:
                return await client.redo()
            receipt = await client.transaction(steps)
            ids += [receipt.id(step) for step in steps if step.makes_object]
            return receipt
        except NestError as error:
            expected = ("NOT_FOUND", "CYCLE", "NOTHING_TO_UNDO", "NOTHING_TO_REDO", "UNDO_CONFLICT", "OWNER_GONE")
            self.assertIn(error.name, expected, str(error))
            return error


if __name__ == "__main__":
    unittest.main()
