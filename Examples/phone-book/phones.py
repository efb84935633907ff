"""Imports people and phones, then searches as a user types: each answer is in sections, and the list stays live."""

import os

import nest

ENTRIES = [("Ann Berger", "+41 61 555 01 10"), ("Ida Blum", "+41 61 555 01 50"), ("Ida Blum", "+41 61 555 01 51")]

with nest.sync.connect(os.environ.get("NEST_SERVER", "127.0.0.1:7000")) as client:
    users, phones = client.entity("User"), client.entity("Phone")
    steps = []
    for name, number in ENTRIES:
        owner = users.find_or_create({"name": name})
        steps += [owner, phones.find_or_create({"number": number}, {"user": owner})]
    receipt = client.transaction(steps, name=f"import {len(ENTRIES)} entries")
    print("made", sum(not receipt.was_found(step) for step in steps), "of", len(steps))

    people = users.sorted("name:cd").section("name", "firstCharacter").properties("name", "phones.@count")
    with client.subscribe(people.where(f"name CONTAINS[c] {nest.quote('an')}")) as changes:
        for change in changes:
            match change:
                case nest.Snapshot(rows):
                    for section in rows.sections:
                        names = [f"{row['name']} ({row['phones.@count']})" for row in section.rows]
                        print(f"{section.key}: {', '.join(names)}")
                    dan = next(row for row in rows if row["name"] == "Dan Olsen")
                    client.transaction([users.update(dan, name="Ilan Olsen")], name="rename Dan")
                case nest.Diff(_, events):
                    for event in events:
                        match event:
                            case nest.SectionInserted(at, key):
                                print(f"section {at} is new: {key}")
                            case nest.Moved(source, target, row):
                                print(f"{row['name']} moves from {source} to {target}")
                    break
    print("undid:", client.undo().name)
