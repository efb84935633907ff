"""Programs with the types of Examples/phone-book/model.json. test_types.py checks them with mypy, and runs them.

A line that mypy ignores is a mistake that it must find. Versions of mypy differ in the code of those without one.
"""

from __future__ import annotations

from typing import Any

import nest

from .phone_book_model import Phone, User


async def use(client: nest.Client) -> list[str]:
    """Adds Ann with two phones, follows them while one changes, and returns what it has read."""
    read: list[str] = []
    users, phones = await client.entity(User), await client.entity(Phone)
    ann = users.insert(name="Ann")
    numbers = [phones.insert(number=number, user=ann) for number in ("1", "2")]
    receipt = await client.transaction([ann, *numbers], name="add Ann")

    hers = users.phones(receipt.id(ann)).sorted("-number").window(0, 50)
    async with client.subscribe(hers) as changes:
        async for change in changes:
            match change:
                case nest.Snapshot(rows):
                    read = [phone.number.zfill(3) for phone in rows]
                    await client.transaction(phones.update(rows[0], number="3", user=User(rows[0].user.id, "Ann")))
                case nest.Diff(rows, events):
                    read += [event.row.number for event in events if isinstance(event, nest.Updated)]
                    break

    named = phones.where('number == "1"').properties("number", nest.path("user.name"))
    read += [f"{row['number']} {row['user.name']}" for row in await client.fetch(named)]
    return read


def block(client: nest.sync.Client) -> list[str]:
    """The same without asyncio, with more of what requests can do."""
    users, phones = client.entity(User), client.entity(Phone)
    steps = [users.find_or_create({"name": "Bo"}), users.insert(User.Values(name="Cy")), users.insert({"name": "Ida"})]
    receipt = client.transaction(steps)
    bo = client.fetch(users.where('name == "Bo"'))[0]
    client.transaction([phones.insert(number="7", user=bo), users.update(receipt.id(steps[1]), User.Values(name="Dan"))])

    (id,) = client.reserve_ids(1)
    eve = users.insert(name="Eve", as_id=id)
    client.transaction([eve, phones.insert(number="8", user=eve, place=None)])
    client.transaction(users.delete(id))

    read = names(client, users.where('name > "B"').sorted("name:c"))
    sections = client.fetch(users.sorted("-name").section("name", "firstCharacter")).sections
    read += [f"{section.key} {section.rows[0].name}" for section in sections][:2]
    read += [phone.number for phone in client.fetch(users.of(bo, "phones", Phone).sorted("number"))]
    with client.subscribe(users.around(bo, 1, 1)) as changes:
        change = next(changes)
        read += [user.name for user in change.rows[:1]] if isinstance(change, nest.Snapshot) else []
        newest = changes.rows
        read.append(newest[1].name if newest else "")

    kept: nest.Rows[nest.Row] = client.fetch(phones.properties("@entity", *Phone.columns))
    read += [Phone.of(row).number + row["@entity"] for row in kept]
    untyped = client.entity("User")
    by_phones = untyped.sorted("-phones.@count", "name").properties("name", "phones.@count").window(0, 1)
    read += [f"{row['name']} {row['phones.@count']}" for row in client.fetch(by_phones)]
    return [*read, str(count(client, users)), str(count(client, untyped))]


def names(client: nest.sync.Client, request: nest.FetchRequest[User]) -> list[str]:
    """A part of a program that takes any request for users."""
    return [user.name for user in client.fetch(request)]


def count(client: nest.sync.Client, request: nest.FetchRequest[Any]) -> int:
    """A part of a program that takes any request."""
    return client.count(request)


def same(client: nest.sync.Client, request: nest.FetchRequest[User]) -> nest.sync.Subscription[User]:
    """Without properties, rows are those of the request. Not called."""
    client.entity("User").insert(name="Ann", as_id=90)
    client.entity("User").insert(name="Ann", as_id="90")  # type: ignore[arg-type]
    client.subscribe(request, properties=["name"]).rows[0].name  # type: ignore
    return client.subscribe(request, properties=None)


def mistakes(client: nest.sync.Client, phone: Phone) -> None:
    """Not called."""
    users, phones = client.entity(User), client.entity(Phone)
    Phone.Values(number=1)  # type: ignore[typeddict-item]
    Phone.Values(nmber="1")  # type: ignore
    Phone.Values(user=None)  # type: ignore[typeddict-item]
    phone.nmber  # type: ignore[attr-defined]
    phone.number = "1"  # type: ignore[misc]
    phone.number + 1  # type: ignore[operator]

    phones.insert(nmber="1")  # type: ignore[call-arg]
    phones.insert(number="1", as_id="90")  # type: ignore[arg-type]
    phones.insert(number=1)  # type: ignore[arg-type]
    phones.insert({"number": 1})  # type: ignore
    phones.insert(User.Values(name="Ann"))  # type: ignore[arg-type]
    phones.update(phone, user=None)  # type: ignore[arg-type]
    phones.update("1", number="1")  # type: ignore[arg-type]
    phones.find_or_create({"number": None})  # type: ignore[typeddict-item]

    users.sorted("nmae")  # type: ignore[arg-type]
    users.sorted("phones.@count")  # type: ignore[arg-type]
    phones.sorted("user")  # type: ignore[arg-type]
    users.where("TRUEPREDICATE").sorted("name", "-nmae")  # type: ignore[arg-type]
    users.properties("nmae")  # type: ignore[arg-type]
    users.properties("-name")  # type: ignore[arg-type]
    users.section("nmae")  # type: ignore[arg-type]
    users.phnes(1)  # type: ignore[attr-defined]
    users.phones("1")  # type: ignore[arg-type]
    users.phones(1).sorted("name")  # type: ignore[arg-type]

    client.fetch(users)[0].number  # type: ignore[attr-defined]
    client.fetch(users.properties("name"))[0].name  # type: ignore[attr-defined]
    client.fetch(users)[0]["name"]  # type: ignore[index]
    names(client, phones)  # type: ignore[arg-type]
    names(client, users.properties("name"))  # type: ignore[arg-type]
    client.entity(nest.Row)  # type: ignore[arg-type]
    for change in client.subscribe(users):
        if isinstance(change, nest.Diff):
            change.rows[0].nmae  # type: ignore[attr-defined]
    for row in client.subscribe(users, properties=["name"]).rows or ():
        row.name  # type: ignore[attr-defined]
