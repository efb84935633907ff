"""Requests that a model names, beside a server."""

from __future__ import annotations

import json
import pathlib
import unittest
from typing import Any

import nest
from nest import NestError
from nest.named import NamedRequest

from .server import MISSING, ROOT, Server

MODEL = pathlib.Path(ROOT, "Clients", "js", "test", "live", "named.json")


class BoundTexts(unittest.TestCase):
    def test_values_take_the_places_of_variables(self) -> None:
        text = "a == $FETCH_SOURCE.b.c AND d < $E AND f == '$no' AND SUBQUERY(p, $x, $x.q == $FETCH_SOURCE).@count > 0"
        request = NamedRequest("r", 1, 1, text, "")
        self.assertEqual(request.paths(), ["b.c"])
        bound = request.bound(7, {"b.c": 'x"y'}, {"E": 3})
        expected = 'a == "x\\"y" AND d < 3 AND f == \'$no\' AND SUBQUERY(p, $x, $x.q == 7).@count > 0'
        self.assertEqual(bound, expected)
        nested = "SUBQUERY(p, $x, SUBQUERY($x.q, $y, $y.z == $Z).@count > 0).@count > 0"
        inner = NamedRequest("r", None, 1, nested, "")
        self.assertEqual(inner.bound(None, {}, {"Z": None}), nested.replace("$Z", "nil"))
        with self.assertRaises(NestError):
            inner.bound(None, {}, {})


@unittest.skipIf(MISSING, MISSING)
class NamedRequests(unittest.IsolatedAsyncioTestCase):
    async def test_a_request_has_the_values_of_its_source_and_its_variables(self) -> None:
        server = Server(model=json.loads(MODEL.read_text()))
        self.addCleanup(server.close)
        async with nest.connect(server.address) as client:
            parts, boxes = await client.entity("Part"), await client.entity("Box")
            one, two = boxes.insert(name="one"), boxes.insert(name="two")
            first = parts.insert(code="A-1", price="10.50", box=one)
            second = parts.insert(code="A-2", price=2, box=one)
            third = parts.insert(code="B-1", price=3, box=two)
            receipt = await client.transaction([one, two, first, second, third])

            async def shown(name: str, source: Any = None, **variables: Any) -> list[Any]:
                request = await client.named_request(name, source, **variables)
                return [row.to_dict().get("code", row.to_dict().get("name")) for row in await client.fetch(request)]

            self.assertEqual(await shown("Part.cheaper", receipt.id(first)), ["B-1", "A-2"])
            self.assertEqual(await shown("Part.others", receipt.id(first)), ["A-2"])
            self.assertEqual(await shown("boxes", LEAST=3, CODE="A"), ["one"])
            self.assertEqual(await shown("boxes", LEAST=3, CODE='A" OR "'), [])
            for name, source, variables in [
                ("nothing", None, {}),
                ("Part.cheaper", None, {}),
                ("boxes", 1, {"LEAST": 1, "CODE": "A"}),
                ("boxes", None, {"LEAST": 1}),
            ]:
                with self.assertRaises(NestError) as caught:
                    await client.named_request(name, source, **variables)
                self.assertEqual(caught.exception.name, "INVALID")
            with self.assertRaises(NestError) as caught:
                await client.named_request("Part.cheaper", 999)
            self.assertEqual(caught.exception.name, "NOT_FOUND")
