"""A program with the types of Examples/phone-book/model.json. test_types.py checks it with mypy, and runs it.

A line that mypy ignores is a mistake that it must find.
"""

from __future__ import annotations

import nest

from .phone_book_model import Phone, User


async def use(client: nest.Client) -> list[str]:
    """Adds Ann with two phones, and returns what it has read."""
    users = await client.entity(User.entity)
    phones = await client.entity(Phone.entity)
    ann = users.insert(User.Values(name="Ann"))
    numbers = [phones.insert(Phone.Values(number=number, user=ann)) for number in ("1", "2")]
    receipt = await client.transaction([ann, *numbers], name="add Ann")

    rows = await client.fetch(phones.sorted("number").properties(*Phone.columns))
    read = [Phone.of(row) for row in rows]
    await client.transaction(phones.update(read[1], Phone.Values(number="3", user=User(receipt.id(ann), "Ann"))))
    again = [Phone.of(row) for row in await client.fetch(phones.sorted("number"))]
    return [phone.number.zfill(3) + (" hers" if phone.user.id == receipt.id(ann) else "") for phone in read + again]


def mistakes(phone: Phone) -> None:
    """Not called."""
    Phone.Values(number=1)  # type: ignore[typeddict-item]
    Phone.Values(nmber="1")  # type: ignore[typeddict-item]
    Phone.Values(user=None)  # type: ignore[typeddict-item]
    phone.nmber  # type: ignore[attr-defined]
    phone.number = "1"  # type: ignore[misc]
    phone.number + 1  # type: ignore[operator]
