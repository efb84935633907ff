"""The change feeds of a machine: cursors, resuming, pausing."""

from __future__ import annotations

import unittest
from typing import Any

from nest.machine import ChangesCame, Ended, FeedAdvanced, FeedBegan, Interrupted

from .page import HISTORY, VIEW, Page, changes, error, frame, kinds, subscribed


def point(revision: int, place: int = 0) -> dict[str, Any]:
    return {"history_id": HISTORY, "revision": revision, "place": place}


class Feeds(unittest.TestCase):
    def live(self, revision: int = 7) -> tuple[Page, int]:
        page = Page().ready()
        number = page.machine.follow_changes(None, [1], 5)
        self.assertEqual(page.sent()[-1], ("subscribeChanges", 1, {"since": None, "entities": [1]}))
        page.events()
        page.get(subscribed(1, "current", revision))
        self.assertEqual(page.events(), [FeedBegan(number, point(revision))])  # type: ignore[arg-type]
        return page, number

    def since(self, page: Page) -> list[Any]:
        return [fields["since"] for name, _, fields in page.sent() if name == "subscribeChanges"]

    def test_each_part_has_the_point_after_it(self) -> None:
        page, number = self.live()
        page.get(changes(8), changes(10, 5), changes(10, 9), changes(10))
        events = page.events()
        self.assertEqual({type(one) for one in events}, {ChangesCame})
        self.assertEqual([one.at for one in events], [point(8), point(9, 5), point(9, 9), point(10)])
        self.assertEqual({one.subscription for one in events}, {number})

    def test_a_lost_connection_continues_inside_a_change_set(self) -> None:
        page, number = self.live()
        page.get(changes(8), changes(10, 5))
        page.events()
        page.lose()
        self.assertEqual(kinds(page.events()), ["Interrupted", "Lost"])
        page.reconnect()
        self.assertEqual(self.since(page), [point(9, 5)])
        page.get(subscribed(1, "current", 9, view=VIEW + 1), changes(10, view=VIEW + 1))
        _, began, came = page.events()
        self.assertEqual((began, came.at), (FeedBegan(number, point(9, 5)), point(10)))  # type: ignore[arg-type]

    def test_a_feed_that_never_began_begins_with_the_next_connection(self) -> None:
        page = Page().ready()
        page.machine.follow_changes(None, [])
        page.sent()
        page.lose()
        self.assertEqual(kinds(page.events()), ["Ready", "Lost"])
        page.reconnect()
        self.assertEqual(self.since(page), [None])

    def test_progress_moves_the_point_and_never_back(self) -> None:
        page, number = self.live()
        page.get(frame("progress", revision=7), changes(9), frame("progress", revision=9))
        self.assertEqual(kinds(page.events()), ["ChangesCame"])
        page.get(frame("progress", revision=12))
        self.assertEqual(page.events(), [FeedAdvanced(number, point(12))])  # type: ignore[arg-type]
        page.lose()
        page.reconnect()
        self.assertEqual(self.since(page), [point(12)])

    def test_changes_that_come_twice_end_the_connection(self) -> None:
        for wrong in (changes(7), changes(3)):
            page, _ = self.live()
            page.get(wrong)
            self.assertEqual((page.machine.wants_close, page.events()), (True, []))

    def test_a_paused_feed_leaves_its_changes_at_the_server(self) -> None:
        page, number = self.live()
        page.get(changes(8))
        page.machine.pause_changes(number, True)
        self.assertEqual([name for name, _, _ in page.sent()], ["unsubscribe"])
        page.events()
        page.get(changes(9), frame("done", 2), frame("progress", revision=20))
        self.assertEqual(page.events(), [])
        page.machine.pause_changes(number, False)
        self.assertEqual(self.since(page), [point(8)])
        page.get(subscribed(3, "current", 8, view=VIEW + 1), changes(9, view=VIEW + 1))
        self.assertEqual([type(one) for one in page.events()], [FeedBegan, ChangesCame])

    def test_a_feed_that_is_paused_before_its_answer_leaves_it(self) -> None:
        page = Page().ready()
        number = page.machine.follow_changes(None, [])
        page.machine.pause_changes(number, True)
        page.events()
        page.get(subscribed(1, "current", 7), changes(8))
        self.assertEqual(page.events(), [])
        self.assertEqual([name for name, _, _ in page.sent()][-1], "unsubscribe")

    def test_a_refusal_ends_a_feed_and_a_later_pause_does_not(self) -> None:
        page = Page().ready()
        number = page.machine.follow_changes(point(1), [])  # type: ignore[arg-type]
        page.get(error(1, "REVISION_DROPPED"))
        ended = page.events()[-1]
        self.assertEqual((ended.subscription, ended.error.name), (number, "REVISION_DROPPED"))
        page, _ = self.live()
        page.lose()
        page.reconnect()
        page.sent()
        page.events()
        page.get(error(1, "BUSY", 2))
        self.assertEqual((page.events(), self.since(page)), ([], []))
        page.wait(1)
        self.assertEqual(self.since(page), [point(7)])

    def test_the_server_ends_a_feed_with_a_reason(self) -> None:
        page, number = self.live()
        page.get(frame("subscriptionEnd", VIEW, code="REVISION_DROPPED", message="slow"), changes(8))
        (ended,) = page.events()
        self.assertEqual((type(ended), ended.subscription, ended.error.name), (Ended, number, "REVISION_DROPPED"))

    def test_a_closed_feed_is_left_and_says_nothing_more(self) -> None:
        page, number = self.live()
        page.machine.unsubscribe(number)
        self.assertEqual([name for name, _, _ in page.sent()], ["unsubscribe"])
        page.get(changes(8), frame("done", 2))
        self.assertEqual(kinds(page.events()), ["Ended"])
        page.lose()
        page.reconnect()
        self.assertEqual(page.sent(), [])

    def test_another_model_ends_a_feed(self) -> None:
        page, number = self.live()
        page.lose()
        page.reconnect(model_hash=6)
        events = page.events()
        self.assertEqual([type(one) for one in events if hasattr(one, "subscription")], [Interrupted, Ended])
        self.assertEqual(events[-1].error.name, "SCHEMA_CHANGED")


if __name__ == "__main__":
    unittest.main()
