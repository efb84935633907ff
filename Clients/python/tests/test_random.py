"""A random client beside nestc, through a proxy that breaks its connections, with a server that is killed.

Some of its restarts add an attribute to the model: what the client follows goes on.

Every diff is applied a second time by code of its own, and its digest compared with the one that nestc prints for the
same revision. At quiet points every subscription equals what nestc fetches. In the end every write has happened as
often as it was acknowledged, and the feed has every revision once. NEST_SEED and NEST_STEPS repeat and extend a run.
"""

from __future__ import annotations

import asyncio
import copy
import os
import random
import unittest
from collections import Counter
from collections.abc import Awaitable
from typing import Any
from unittest import mock

import nest
from nest import ChangePoint, ChangeSet, NestError
from nest.machine.subscriptions import Subscriptions

from .follower import Follower
from .model import MODEL
from .proxy import ChaosProxy
from .server import MISSING, NESTC, Server

NESTED = ["--entity", "Thing", "--where", "parent != nil"]
#: A request as the client makes it, and as nestc does.
REQUESTS: list[tuple[Any, list[str]]] = [
    (
        lambda things: things.children(1).properties("title", "done", "children.@count"),
        ["--of", "1", "--relationship", "children", "--properties"],
    ),
    (
        lambda things: (
            things.where("parent != nil")
            .sorted("title:c", "-count")
            .section("title", "firstCharacter")
            .properties("title", "parent.title")
        ),
        [*NESTED, "--sort", "title:c,-count", "--section", "firstCharacter(title)", "--properties"],
    ),
    (
        lambda things: (
            things.where("parent != nil")
            .where("done == YES")
            .sorted("-count")
            .window(1, 4)
            .properties("count", "title")
        ),
        [*NESTED[:-1], "parent != nil AND done == YES", "--sort", "-count", "--window", "1..5", "--properties"],
    ),
    (
        lambda things: things.where("parent != nil").where("ANY tags.name == 'red'").properties("title", "tags.@count"),
        [*NESTED[:-1], "parent != nil AND ANY tags.name == 'red'", "--properties"],
    ),
]
REFUSALS = {
    *("NOT_FOUND", "CYCLE", "NOTHING_TO_UNDO", "NOTHING_TO_REDO", "UNDO_CONFLICT", "OWNER_GONE", "ROOT_OBJECT"),
    *("INVALID", "VALIDATION_FAILED"),
}


def title(chance: random.Random) -> str:
    return chance.choice("abcäÄZé") + chance.choice("xyz ") * chance.randrange(4)


class Run:
    def __init__(self, test: unittest.TestCase, chance: random.Random, server: Server, proxy: ChaosProxy) -> None:
        self.test, self.chance, self.server, self.proxy = test, chance, server, proxy
        self.counts: Counter[str] = Counter()
        #: What became of each write: its name, and its receipt or the name of its refusal.
        self.outcomes: dict[str, Any] = {}
        self.calls: set[asyncio.Task[None]] = set()
        self.faults: list[BaseException] = []
        self.ids = [1]
        #: What the feed has shown.
        self.changes: list[Any] = []
        self.model: Any = copy.deepcopy(MODEL)

    def begin(self, work: Awaitable[None]) -> None:
        async def call() -> None:
            try:
                await work
            except NestError as error:
                if error.name not in REFUSALS:
                    self.faults.append(error)
            except Exception as error:
                self.faults.append(error)

        task = asyncio.ensure_future(call())
        self.calls.add(task)
        task.add_done_callback(self.calls.discard)

    def fork(self) -> random.Random:
        """Chance for one call. When others are answered does not change what the steps are."""
        return random.Random(self.chance.getrandbits(64))

    async def write(self, chance: random.Random, client: nest.Client, entities: dict[str, nest.Entity]) -> None:
        things, tags = entities["Thing"], entities["Tag"]
        steps = []
        for _ in range(chance.choice((1, 1, 2, 6))):
            object, place = chance.choice(self.ids), chance.choice((None, nest.FIRST))
            match chance.choice(("insert", "insert", "update", "update", "move", "tag", "delete")):
                case "insert":
                    values = {"title": title(chance), "count": chance.randrange(9), "done": chance.random() < 0.5}
                    steps.append(things.insert(values, under=chance.choice((1, object)), place=place))
                case "update" if object != 1:
                    steps.append(things.update(object, title=title(chance), done=chance.random() < 0.5))
                case "move" if object != 1:
                    steps.append(things.move(object, under=chance.choice(self.ids), place=place))
                case "tag":
                    tag = tags.find_or_create({"name": chance.choice(("red", "green"))})
                    steps += [tag, chance.choice((things.relate, things.unrelate))(object, "tags", tag)]
                case "delete" if object != 1 and chance.random() < 0.25:
                    steps.append(things.delete(object))
        if not steps:
            return
        name = f"write {len(self.outcomes)}"
        self.outcomes[name] = None
        try:
            receipt = await client.transaction(steps, name=name)
        except NestError as error:
            self.outcomes[name] = error.name
            raise
        self.outcomes[name] = receipt
        self.ids += [receipt.id(step) for step in steps if step.kind == "insert"]

    async def undo(self, chance: random.Random, client: nest.Client) -> None:
        await client.undo(policy=chance.choice(("keep", "force")))

    async def redo(self, client: nest.Client) -> None:
        await client.redo()

    async def feed(self, client: nest.Client) -> None:
        """Every revision from the first on."""
        assert client._driver and client._driver.machine.welcome
        start = ChangePoint(client._driver.machine.welcome["history_id"].hex(), 0)
        async for change in client.changes(since=start):
            if isinstance(change, ChangeSet):
                objects = [
                    {"change": one.change, "entity": one.entity, "id": one.id}
                    | ({"properties": list(one.properties)} if one.properties else {})
                    for one in change.objects
                ]
                self.changes.append((change.revision, change.name, objects))

    async def quiet(self, followers: list[Follower]) -> None:
        """Waits until nothing is under way; then every subscription is what nestc fetches."""
        await self.proxy.calm()
        if self.calls:
            await asyncio.wait(self.calls, timeout=60)
        self.test.assertEqual((len(self.calls), self.faults), (0, []))
        for one in followers:
            expected = await self.server.nestc("fetch", *one.options)
            deadline = asyncio.get_running_loop().time() + 20
            while self.shown(one) != expected and asyncio.get_running_loop().time() < deadline:
                await asyncio.sleep(0.02)
            self.test.assertEqual(self.faults, [])
            self.test.assertEqual(self.shown(one), expected, " ".join(one.options))
            one.compare()
            self.counts["fetched"] += 1
            self.counts["rows"] += len(expected)

    def shown(self, one: Follower) -> Any:
        rows = one.subscription.rows
        assert rows is not None
        has_sections = "--section" in one.options
        return [
            {"id": row.id, **({"section": section.key} if has_sections else {}), **row.to_dict()}
            for section in rows.sections
            for row in section.rows
        ]

    async def step(self, subject: Any, other: Any) -> None:
        match self.chance.choices(
            ("write", "other", "undo", "redo", "wait", "break", "wild", "kill"), (30, 12, 8, 4, 14, 4, 6, 1)
        )[0]:
            case "write":
                self.begin(self.write(self.fork(), *subject))
            case "other":
                self.begin(self.write(self.fork(), *other))
            case "undo":
                self.begin(self.undo(self.fork(), subject[0]))
            case "redo":
                self.begin(self.redo(subject[0]))
            case "break":
                self.counts["breaks"] += 1
                await self.proxy.break_all()
            case "wild":
                self.proxy.is_wild = not self.proxy.is_wild
                await self.proxy.break_all()
            case "kill":
                await self.kill()
        await asyncio.sleep(self.chance.random() * 0.06)

    async def kill(self, grows: bool = False) -> None:
        self.counts["kills"] += 1
        await asyncio.to_thread(self.server.kill)
        if grows or self.chance.random() < 0.5:
            self.counts["models"] += 1
            attributes = self.chance.choice(self.model["entities"])["attributes"]
            more = {"name": f"more{self.counts['models']}", "type": "string", "optional": True}
            attributes.insert(self.chance.randrange(len(attributes) + 1), more)
            self.server.change_model(self.model)
        await asyncio.to_thread(self.server.start)

    async def fill(self, client: nest.Client, entities: dict[str, nest.Entity]) -> None:
        """Inserts rows, so that there is something to change."""
        chance = self.fork()
        steps = [
            entities["Thing"].insert(
                title=title(chance), count=chance.randrange(9), done=chance.random() < 0.5, under=1
            )
            for _ in range(12)
        ]
        receipt = await client.transaction(steps)
        self.ids += [receipt.id(step) for step in steps]

    async def finish(self, client: nest.Client) -> None:
        history = [one async for one in pages(client)]
        written = Counter(one.name for one in history if one.kind == "write")
        for name, outcome in self.outcomes.items():
            happened = isinstance(outcome, nest.Receipt) and outcome.is_changed
            self.test.assertEqual(written[name], 1 if happened else 0, f"{name}: {outcome}")
        async with asyncio.timeout(30):
            while not self.changes or self.changes[-1][0] != history[0].revision:
                await asyncio.sleep(0.02)
        printed = await self.server.nestc("changes", "--since", "0", "--until-revision", str(history[0].revision))
        expected = [(one["revision"], one["name"], one["objects"]) for one in printed if one["event"] == "changes"]
        self.test.assertEqual(self.changes, expected)
        self.test.assertEqual([one[0] for one in expected], list(range(1, history[0].revision + 1)))


async def pages(client: nest.Client) -> Any:
    before = 0
    while page := await client.history(limit=1000, before=before):
        for one in page:
            yield one
        before = page[-1].revision


@unittest.skipIf(MISSING, MISSING)
@unittest.skipUnless(NESTC.exists(), "there is no nestc beside nestd")
class RandomRun(unittest.IsolatedAsyncioTestCase):
    async def test_a_random_client_agrees_with_nestc(self) -> None:
        seed = int(os.environ.get("NEST_SEED", random.SystemRandom().randrange(2**32)))
        steps = int(os.environ.get("NEST_STEPS", 120))
        print(f"NEST_SEED={seed} NEST_STEPS={steps}", flush=True)
        # A slow debug loop says nothing about the client.
        asyncio.get_running_loop().slow_callback_duration = 60
        chance = random.Random(seed)
        server = Server(model=MODEL)
        self.addCleanup(server.close)
        async with ChaosProxy(lambda: server.port, random.Random(chance.random())) as proxy:
            run = Run(self, chance, server, proxy)
            mismatch = mock.patch.object(
                Subscriptions, "_drop", lambda *_: run.faults.append(AssertionError("a mismatch"))
            )
            options: dict[str, Any] = {"reconnect_pause_max": 0.15, "request_timeout": None}
            with mismatch:
                await self.play(run, steps, f"127.0.0.1:{proxy.port}", options)
        print(dict(run.counts + proxy.counts), flush=True)

    async def play(self, run: Run, steps: int, address: str, options: Any) -> None:
        async with (
            nest.connect(address, user="Ann", **options) as client,
            nest.connect(run.server.address, user="Bo", **options) as writer,
        ):
            subject, other = [
                (one, {name: await one.entity(name) for name in ("Thing", "Tag")}) for one in (client, writer)
            ]
            await run.fill(*other)
            followers = []
            for make, given in REQUESTS:
                request = make(subject[1]["Thing"])
                followers.append(Follower(run.server, client.subscribe(request), given, list(request.names)))
            tasks = [asyncio.ensure_future(one.follow()) for one in followers]
            watches = [asyncio.ensure_future(one.watch()) for one in followers]
            tasks.append(asyncio.ensure_future(run.feed(client)))
            for task in (*tasks, *watches):
                task.add_done_callback(
                    lambda task: task.cancelled() or not task.exception() or run.faults.append(task.exception())
                )
            try:
                async with asyncio.timeout(30):
                    while not all(one.subscription.rows is not None and one.digests for one in followers):
                        await asyncio.sleep(0.02)
                        self.assertEqual(run.faults, [])
                for number in range(steps):
                    await run.step(subject, other)
                    self.assertEqual(run.faults, [])
                    if number == steps // 2:
                        await run.kill(grows=True)
                    if number % 30 == 29:
                        await run.quiet(followers)
                        await run.fill(*other)
                await run.quiet(followers)
                await run.finish(writer)
            finally:
                for watch in watches:
                    watch.cancel()
                await asyncio.wait(watches)
        await asyncio.wait(tasks)
        self.assertEqual(run.faults, [])
        run.counts["digests compared"] = sum(one.compared for one in followers)
        self.assertGreater(run.counts["digests compared"], steps // 10)
        self.assertGreater(run.counts["rows"], 0)


if __name__ == "__main__":
    unittest.main()
