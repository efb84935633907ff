"""Follows the posts with the names of their users. A user gets another name, and the rows of the posts change."""

import os

import nest

with nest.sync.connect(os.environ.get("NEST_SERVER", "127.0.0.1:7000")) as client:
    users, posts = client.entity("User"), client.entity("Post")
    with client.subscribe(posts.sorted("title").properties("user.name", "title")) as changes:
        for change in changes:
            match change:
                case nest.Snapshot(rows):
                    for row in rows:
                        print(f"{row['user.name']} - {row['title']}")
                    leo = client.fetch(users.where('name == "Leo"'))[0]
                    client.transaction([users.update(leo, name="Leonie")], name="rename Leo")
                case nest.Diff(rows, events):
                    for event in events:
                        print(f"{event.row['title']}: {event.values}")
                    break
    print("undid:", client.undo().name)
