"""What programs do to a client: they stop in the middle, cancel, close from anywhere, fork, and forget."""

from __future__ import annotations

import asyncio
import copy
import gc
import os
import pickle
import random
import signal
import ssl
import subprocess
import sys
import threading
import unittest
import warnings
from collections.abc import Awaitable, Callable
from typing import Any
from unittest import mock

import nest
from nest import NestError, Snapshot
from nest.errors import ProtocolError
from nest.wire import limits

from .page import PREFACE, welcome
from .proxy import ChaosProxy
from .server import MISSING, Server, until


async def subscriptions_of(client: nest.Client) -> int:
    """How many subscriptions the server counts for a client."""
    fields = await client._running.call("getClients", "clients", {"after": 0, "limit": 100})
    (mine,) = [one for one in fields["clients"] if one["name"] == "faces"]
    return int(mine["subscriptions"])


def has_none(client: nest.Client) -> Callable[[], Awaitable[bool]]:
    """Whether the server counts no subscription for a client any more."""

    async def condition() -> bool:
        return await subscriptions_of(client) == 0

    return condition


async def eventually(condition: Callable[[], Awaitable[bool]]) -> None:
    """Waits until something is true; a minute is an error."""
    async with asyncio.timeout(60):
        while not await condition():
            await asyncio.sleep(0.01)


@unittest.skipIf(MISSING, MISSING)
class OnAsyncio(unittest.IsolatedAsyncioTestCase):
    server: Server

    @classmethod
    def setUpClass(cls) -> None:
        cls.server = Server()

    @classmethod
    def tearDownClass(cls) -> None:
        cls.server.close()

    async def test_a_dropped_iterator_ends_its_subscription_and_warns(self) -> None:
        async with nest.connect(self.server.address, client_name="faces") as client:
            items = await client.entity("Item")
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                async for _ in client.subscribe(items):
                    self.assertEqual(await subscriptions_of(client), 1)
                    break
                async for _ in client.changes():
                    break
                gc.collect()
                await eventually(has_none(client))
            self.assertEqual([one.category for one in caught], [ResourceWarning, ResourceWarning])

    async def test_an_iterator_that_only_a_waiting_task_holds_lives(self) -> None:
        async with nest.connect(self.server.address) as client:
            items = await client.entity("Item")
            seen: list[Any] = []

            async def follow() -> None:
                async for change in client.subscribe(items.where('title == "held"')):
                    seen.append(change)

            task = asyncio.ensure_future(follow())

            async def has_seen(count: int) -> bool:
                return len(seen) >= count

            await eventually(lambda: has_seen(1))
            gc.collect()
            await client.transaction([items.insert(title="held")])
            await eventually(lambda: has_seen(2))
        await task

    async def test_a_forgotten_client_closes_its_connection_and_warns(self) -> None:
        async with nest.connect(self.server.address) as watcher:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                await (await nest.connect(self.server.address, client_name="forgotten")).model()
                gc.collect()

                async def is_gone() -> bool:
                    fields = await watcher._running.call("getClients", "clients", {"after": 0, "limit": 100})
                    return "forgotten" not in [one["name"] for one in fields["clients"]]

                await eventually(is_gone)
            self.assertEqual([one.category for one in caught], [ResourceWarning])

    async def test_a_cancelled_call_leaves_the_client_usable(self) -> None:
        async with nest.connect(self.server.address) as client:
            items = await client.entity("Item")
            tasks = [asyncio.ensure_future(client.fetch(items)) for _ in range(20)]
            await asyncio.sleep(0)
            for task in tasks[::2]:
                task.cancel()
            done = await asyncio.gather(*tasks, return_exceptions=True)
            self.assertEqual([type(one) for one in done[:2]], [asyncio.CancelledError, nest.Rows])
            self.assertGreaterEqual(await client.count(items), 1)

    async def test_the_end_of_the_context_closes_the_connection(self) -> None:
        async with nest.connect(self.server.address) as client:
            assert client._driver
            transport = client._driver._transport
        assert transport
        self.assertTrue(transport.is_closing())
        self.assertIsNone(client._driver._transport)
        self.assertEqual((client.state, repr(client)), ("closed", f"<Client of nest://{self.server.address}, closed>"))

    async def test_an_error_ends_a_loop_once(self) -> None:
        async with nest.connect(self.server.address) as client:
            items = await client.entity("Item")
            changes = client.subscribe(items.children(2**50))
            with self.assertRaises(NestError):
                await changes.__anext__()
            with self.assertRaises(StopAsyncIteration):
                await changes.__anext__()

    async def test_an_exception_in_a_loop_closes_the_subscription(self) -> None:
        async with nest.connect(self.server.address, client_name="faces") as client:
            items = await client.entity("Item")
            with self.assertRaises(ZeroDivisionError):
                async with client.subscribe(items) as changes:
                    async for _ in changes:
                        _ = 1 // 0
            await eventually(has_none(client))

    async def test_rows_are_keys(self) -> None:
        async with nest.connect(self.server.address) as client:
            items = await client.entity("Item")
            await client.transaction([items.insert(title="key")])
            one, other = await client.fetch(items), await client.fetch(items)
            self.assertEqual(one[-1], one[-1])
            self.assertEqual(len({row: row.id for row in one}), len(one))
            self.assertEqual(hash(items.where("done == YES")), hash(items.where("done == YES")))
            self.assertEqual([row.id for row in one], [row.id for row in other])
            receipt = await client.transaction([items.update(one[-1], title="x")], expect={one[-1]: 1000})
            self.assertTrue(receipt.is_changed)

    async def test_a_host_that_cannot_be_one_is_unreachable(self) -> None:
        for address in ("a..b:7000", "x" * 70 + ":7000"):
            with self.subTest(address), self.assertRaises(NestError) as caught:
                await nest.connect(address)
            self.assertEqual(caught.exception.name, "UNREACHABLE")

    async def test_several_addresses_are_the_nodes_of_a_cluster(self) -> None:
        async with ChaosProxy(lambda: self.server.port, random.Random(1)) as one:
            async with ChaosProxy(lambda: self.server.port, random.Random(1)) as other:
                nodes = ["127.0.0.1:1", f"127.0.0.1:{one.port}", f"127.0.0.1:{other.port}"]
                async with nest.connect(nodes, reconnect_pause_max=0.1) as client:
                    items = await client.entity("Item")
                    async with client.subscribe(items.where('title == "node"')) as changes:
                        self.assertIsInstance(await changes.__anext__(), Snapshot)
                        await one.__aexit__()
                        await client.transaction([items.insert(title="node")])
                        self.assertEqual(len((await until(changes, nest.Diff)).rows), 1)
                    self.assertGreater(other.counts["connections"], 0)

    async def test_addresses_are_checked_before_anything_is_sent(self) -> None:
        secret = "nest_1_" + "00" * 32
        wrong: list[tuple[Any, dict[str, Any], str]] = [
            ([], {}, "INVALID"),
            ("a:1,nests://b:2", {}, "INVALID"),
            ("a:1,,b:2", {}, "INVALID"),
            (["a:1"] * 33, {}, "INVALID"),
            ("localhost:1,nest.example:2", {"token": secret}, "UNTRUSTED"),
        ]
        for address, options, name in wrong:
            with self.subTest(address), self.assertRaises(NestError) as caught:
                nest.connect(address, **options)
            self.assertEqual(caught.exception.name, name)
        self.assertEqual(repr(nest.connect("a,b:2")), "<Client of nest://a:7000, nest://b:2, connecting>")

    async def test_tls_is_not_left_out_by_mistake(self) -> None:
        options: list[dict[str, Any]] = [{"tls": ssl.create_default_context()}, {"server_name": "nest.example"}]
        for wrong in options:
            with self.subTest(wrong), self.assertRaises(NestError) as caught:
                nest.connect("nest.example:7000", **wrong)
            self.assertEqual(caught.exception.name, "INVALID")


class Silence(unittest.IsolatedAsyncioTestCase):
    """A server that accepts a client and then says nothing more."""

    async def serve(self, answer: bytes) -> str:
        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(answer)
            self.addAsyncCleanup(writer.wait_closed)
            self.addCleanup(writer.close)

        server = await asyncio.start_server(accept, "127.0.0.1", 0)
        self.addCleanup(server.close)
        return f"127.0.0.1:{server.sockets[0].getsockname()[1]}"

    async def test_a_request_without_an_answer_times_out(self) -> None:
        address = await self.serve(PREFACE + welcome())
        async with nest.connect(address, request_timeout=0.05) as client:
            with self.assertRaises(NestError) as caught:
                await client.model()
            self.assertEqual((caught.exception.name, caught.exception.retry), ("TIMED_OUT", 2))
            with self.assertRaises(NestError) as caught:
                await client.undo(key=bytes(range(16)))
            self.assertEqual((caught.exception.name, caught.exception.key), ("OUTCOME_UNKNOWN", bytes(range(16))))

    async def test_a_server_that_does_not_answer_hello_is_unreachable(self) -> None:
        with mock.patch.object(limits, "HANDSHAKE_SECONDS", 0.05), self.assertRaises(NestError) as caught:
            await nest.connect(await self.serve(b""))
        self.assertEqual(caught.exception.name, "TIMED_OUT")

    async def test_an_attempt_to_connect_is_limited(self) -> None:
        async def never(*_: Any, **__: Any) -> None:
            await asyncio.get_running_loop().create_future()

        loop = asyncio.get_running_loop()
        with mock.patch.object(limits, "CONNECT_SECONDS", 0.05), mock.patch.object(loop, "create_connection", never):
            with self.assertRaises(NestError) as caught:
                await nest.connect()
        self.assertEqual(caught.exception.name, "UNREACHABLE")
        self.assertIn("no answer in 0.05 seconds", caught.exception.text)

    async def test_cancelling_connect_ends_the_client(self) -> None:
        client = nest.connect(await self.serve(b""))
        with self.assertRaises(TimeoutError):
            async with asyncio.timeout(0.05):
                await client
        self.assertEqual(client.state, "closed")
        await client.aclose()


class Errors(unittest.TestCase):
    def test_errors_can_be_copied_and_pickled(self) -> None:
        for kind in (NestError, ProtocolError):
            error = kind("CONFLICT", "text", retry=2, object=7, key=b"k")
            for again in (copy.copy(error), copy.deepcopy(error), pickle.loads(pickle.dumps(error))):
                self.assertEqual((type(again), again.__dict__, again.args), (kind, error.__dict__, error.args))
        self.assertEqual(repr(error), "ProtocolError('CONFLICT', 'text')")


@unittest.skipIf(MISSING, MISSING)
class Blocking(unittest.TestCase):
    server: Server

    @classmethod
    def setUpClass(cls) -> None:
        cls.server = Server()

    @classmethod
    def tearDownClass(cls) -> None:
        cls.server.close()

    def test_closing_from_another_thread_ends_what_blocks(self) -> None:
        for _ in range(20):
            client = nest.sync.connect(self.server.address).__enter__()
            items = client.entity("Item")
            changes = client.subscribe(items)
            self.assertIsInstance(next(changes), Snapshot)
            ended = []

            def follow(changes: Any = changes, ended: Any = ended) -> None:
                ended.append(list(changes))

            def fetch(client: Any = client, items: Any = items, ended: Any = ended) -> None:
                try:
                    while True:
                        client.fetch(items)
                except NestError as error:
                    ended.append(error.name)

            threads = [threading.Thread(target=one) for one in (follow, fetch, fetch, client.close, client.close)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(20)
                self.assertFalse(thread.is_alive(), "a thread waits for ever")
            self.assertEqual(sorted(map(str, ended)), ["CLOSED", "CLOSED", "[]"])
            self.assertEqual(list(changes), [])

    def test_an_interrupt_leaves_the_client_usable(self) -> None:
        with nest.sync.connect(self.server.address) as client:
            items = client.entity("Item")
            with client.subscribe(items) as changes:
                next(changes)
                timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
                timer.start()
                with self.assertRaises(KeyboardInterrupt):
                    next(changes)
                timer.join()
                receipt = client.transaction([items.insert(title="after")])
                self.assertEqual(next(changes).rows.revision, receipt.revision)  # type: ignore[union-attr]

    def test_a_client_is_not_used_in_a_forked_process(self) -> None:
        with nest.sync.connect(self.server.address) as client:
            items = client.entity("Item")
            child = os.fork()
            if child == 0:
                try:
                    client.fetch(items)
                except NestError as error:
                    client.close()
                    os._exit(7 if error.name == "CLOSED" and "fork" in error.text else 1)
                os._exit(2)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 7)
            self.assertGreaterEqual(client.count(items), 0)

    def test_a_program_that_forgets_to_close_ends(self) -> None:
        program = (
            "import nest\n"
            f"client = nest.sync.connect({self.server.address!r}).__enter__()\n"
            "changes = iter(client.subscribe(client.entity('Item')))\n"
            "print(next(changes).reason)\n"
        )
        source = os.path.dirname(os.path.dirname(nest.__file__))
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONPATH": source},
            capture_output=True,
            text=True,
            timeout=30,
        )
        self.assertEqual((done.stdout, done.stderr, done.returncode), ("first\n", "", 0))

    def test_a_client_is_entered_first_and_once(self) -> None:
        client = nest.sync.connect(self.server.address)
        with self.assertRaises(NestError) as caught:
            client.model()
        self.assertEqual(caught.exception.name, "INVALID")
        client.close()
        with client, self.assertRaises(NestError) as caught:
            client.__enter__()
        self.assertEqual(caught.exception.name, "INVALID")


if __name__ == "__main__":
    unittest.main()
