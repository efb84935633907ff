"""A program with the types of Tests/Fixtures/Types/model.json, which sends and reads large values: as types_use.py."""

from __future__ import annotations

import pathlib

import nest

from .types_model import Everything


async def use(client: nest.Client, directory: pathlib.Path) -> list[str]:
    """Sends a file and a text, and returns what it has read."""
    things = await client.entity(Everything)
    with open(directory / "scan.png", "rb") as file:
        scan = await client.send_value(things, "scan", file)
    essay = await client.send_value(things, "essay", "Once upon a time")
    receipt = await client.transaction(step := things.insert(text="a", scan=scan, essay=essay))

    thing = (await client.fetch(things))[0]
    read = [str(thing.scan.length if thing.scan else 0), str(thing.essay == essay)]
    with open(directory / "copy.png", "wb") as file:
        held: nest.LargeValue = await client.save_value(things, thing, "scan", file)
    read.append(str(held == thing.scan))
    read.append(await client.read_text(things, receipt.id(step), "essay"))
    return read


def mistakes(client: nest.sync.Client, things: nest.FetchRequest[Everything]) -> None:
    """Not called."""
    typed = client.entity(Everything)
    typed.insert(text="a", scan=b"ab")  # type: ignore
    typed.update(1, essay="Once")  # type: ignore
    typed.sorted("scan")  # type: ignore
    client.send_value(things, "scan", 5)  # type: ignore
