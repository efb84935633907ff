"""Subscriptions of a machine: states, diffs, resuming, shared views."""

from __future__ import annotations

import unittest
from typing import Any

from nest.errors import NestError
from nest.machine import Changed, Interrupted, PositionChanged, Replaced, Resumed
from nest.wire import limits
from nest.wire.rows import Position

from .page import HISTORY, REQUEST, VIEW, Page, error, frame, insertion, kinds, snapshot, subscribed


class Subscriptions(unittest.TestCase):
    def live(self) -> tuple[Page, int]:
        page = Page().ready()
        number = page.machine.subscribe(REQUEST, 5)
        page.get(subscribed(1), snapshot([2, 3]))
        page.events()
        page.sent()
        return page, number

    def resume_of(self, page: Page) -> Any:
        return [fields["resume"] for name, _, fields in page.sent() if name == "subscribe"]

    def test_snapshot_diff_and_own_revisions(self) -> None:
        page, number = self.live()
        page.get(frame("own", revisions=[8]), insertion([2, 3], 4, 7, 8), insertion([2, 3, 4], 5, 8, 9))
        first, second = page.events()
        self.assertEqual((first.subscription, first.own, second.own), (number, (8,), ()))
        self.assertEqual([row.id for row in second.state.sections[0].rows], [2, 3, 4, 5])
        self.assertEqual(second.before, first.state)

    def test_a_lost_connection_is_resumed_from_the_newest_revision(self) -> None:
        page, number = self.live()
        page.get(insertion([2, 3], 4, 7, 8), frame("progress", revision=11))
        page.events()
        page.lose()
        self.assertEqual(kinds(page.events()), ["Interrupted", "Lost"])
        page.reconnect()
        self.assertEqual(self.resume_of(page), [{"history_id": HISTORY, "revision": 11}])
        page.get(subscribed(1, "difference"), insertion([2, 3, 4], 5, 11, 20))
        _, resumed, changed = page.events()
        self.assertEqual((resumed.subscription, resumed.state.revision), (number, 11))
        self.assertEqual((type(changed), changed.state.revision), (Changed, 20))

    def test_a_current_state_is_resumed_without_a_frame(self) -> None:
        page, _ = self.live()
        page.lose()
        page.reconnect()
        page.events()
        page.get(subscribed(1, "current", 30))
        (resumed,) = page.events()
        self.assertEqual((type(resumed), resumed.state.revision), (Resumed, 30))

    def test_a_server_without_the_difference_sends_a_snapshot(self) -> None:
        page, number = self.live()
        page.lose()
        page.reconnect()
        page.events()
        page.get(subscribed(1), snapshot([9], 40))
        (replaced,) = page.events()
        self.assertEqual((type(replaced), replaced.subscription, replaced.state.revision), (Replaced, number, 40))

    def test_several_losses_are_one_interruption(self) -> None:
        page, _ = self.live()
        page.lose()
        page.reconnect()
        page.lose()
        page.reconnect()
        self.assertEqual(kinds(page.events()).count("Interrupted"), 1)
        page.get(subscribed(1, "current", 30))
        self.assertEqual(kinds(page.events()), ["Resumed"])

    def test_a_diff_that_does_not_fit_leads_to_a_new_subscription_without_resume(self) -> None:
        for data in (
            insertion([2, 3], 4, 7, 8, wrong=True),
            insertion([2, 3], 4, 9, 10),
            insertion([2], 4, 7, 8),
            insertion([2, 3], 4, 7, 7),
        ):
            page, number = self.live()
            page.get(data)
            names = [(name, fields.get("resume", "-")) for name, _, fields in page.sent()]
            self.assertEqual(names, [("unsubscribe", "-"), ("subscribe", None)])
            page.get(insertion([2, 3], 4, 7, 8), frame("done", 2), subscribed(3), snapshot([2, 3, 4], 8))
            (replaced,) = page.events()
            self.assertEqual((replaced.subscription, replaced.state.row_count), (number, 3))

    def test_equal_subscriptions_share_the_frames_of_a_view(self) -> None:
        page, one = self.live()
        two = page.machine.subscribe(REQUEST, 5)
        page.get(subscribed(2, "alreadySubscribed"))
        self.assertEqual([(type(e), e.subscription) for e in page.events()], [(Replaced, two)])
        page.get(insertion([2, 3], 4, 7, 8))
        self.assertEqual([e.subscription for e in page.events()], [one, two])
        page.machine.unsubscribe(one)
        page.events()
        page.get(insertion([2, 3, 4], 5, 8, 9), frame("done", 3), insertion([2, 3, 4, 5], 6, 9, 10))
        self.assertEqual([e.subscription for e in page.events()], [two, two])

    def test_a_subscription_joins_a_view_that_another_one_is_leaving(self) -> None:
        page, one = self.live()
        two = page.machine.subscribe(REQUEST, 5)
        page.machine.unsubscribe(one)
        page.events()
        # The server has read SUBSCRIBE before UNSUBSCRIBE.
        page.get(insertion([2, 3], 4, 7, 8), subscribed(2, "alreadySubscribed"), frame("done", 3))
        (replaced,) = page.events()
        self.assertEqual((replaced.subscription, replaced.state.row_count), (two, 3))
        page.get(insertion([2, 3, 4], 5, 8, 9))
        self.assertEqual([e.subscription for e in page.events()], [two])

    def test_a_subscription_that_ended_before_its_answer_is_left(self) -> None:
        page = Page().ready()
        number = page.machine.subscribe(REQUEST)
        page.machine.unsubscribe(number)
        page.sent()
        page.get(subscribed(1), snapshot([2]))
        self.assertEqual([name for name, _, _ in page.sent()], ["unsubscribe"])
        page.get(frame("done", 2), snapshot([3]))
        self.assertEqual(kinds(page.events()), ["Ready", "Ended"])

    def test_a_refused_subscription_ends_with_the_error(self) -> None:
        page = Page().ready()
        number = page.machine.subscribe(REQUEST)
        page.get(error(1, "NOT_FOUND"))
        ended = page.events()[-1]
        self.assertEqual((ended.subscription, ended.error.name), (number, "NOT_FOUND"))

    def test_a_resume_that_the_server_cannot_take_now_is_sent_again_after_a_pause(self) -> None:
        page, _ = self.live()
        page.lose()
        page.reconnect()
        page.sent()
        page.get(error(1, "BUSY", 2, 250))
        self.assertEqual(self.resume_of(page), [])
        page.wait(1)
        self.assertEqual(self.resume_of(page), [{"history_id": HISTORY, "revision": 7}])

    def test_the_end_of_a_view_ends_its_subscriptions(self) -> None:
        page, number = self.live()
        page.get(frame("subscriptionEnd", VIEW, code="VALUE_TOO_LARGE", message="a sum"), insertion([2, 3], 4, 7, 8))
        (ended,) = page.events()
        self.assertEqual((ended.subscription, ended.error.name), (number, "VALUE_TOO_LARGE"))

    def test_a_window_has_its_position_and_resumes_around_its_last_anchor(self) -> None:
        page = Page().ready()
        request = {**REQUEST, "source": None, "around": {"anchor": 2, "before": 1, "after": 1}}
        page.machine.subscribe(request)
        page.get(subscribed(1), snapshot([2, 3]))
        page.get(frame("totals", VIEW, revision=8, position=Position(9, 1, 4, 0, 4, 3)))
        moved = page.events()[-1]
        self.assertEqual((type(moved), moved.state.position.anchor, moved.state.revision), (PositionChanged, 3, 7))
        page.lose()
        page.sent()
        page.reconnect()
        ((_, _, fields),) = page.sent()
        self.assertEqual(fields["request"]["around"]["anchor"], 3)

    def test_the_interruption_names_the_cause(self) -> None:
        page, number = self.live()
        page.get(frame("goAway", code="SLOW_CONSUMER", last_request_id=1, retry_after=0, message=""))
        page.lose()
        interrupted = page.events()[0]
        self.assertEqual((type(interrupted), interrupted.subscription), (Interrupted, number))
        self.assertEqual(interrupted.error.name, "SLOW_CONSUMER")

    def test_a_state_is_never_resumed_in_a_history_that_it_is_not_of(self) -> None:
        page, _ = self.live()
        page.lose()
        other = bytes(16)
        page.reconnect(history_id=other)
        self.assertEqual(self.resume_of(page), [{"history_id": HISTORY, "revision": 7}])
        # The server has another history, and the connection is lost before its snapshot is complete.
        page.get(subscribed(1), snapshot([2, 3], 7)[:-1])
        page.lose()
        page.reconnect(history_id=other)
        self.assertEqual(self.resume_of(page), [{"history_id": HISTORY, "revision": 7}])

    def test_a_request_that_cannot_be_encoded_is_refused_at_once_and_forgotten(self) -> None:
        page = Page()
        with self.assertRaises(NestError) as caught:
            page.machine.subscribe({**REQUEST, "range": {"offset": -1, "limit": 5}})
        self.assertEqual(caught.exception.name, "INVALID")
        page.ready()
        self.assertEqual((page.sent(), page.machine.wants_close), ([], False))

    def test_a_wrong_snapshot_is_requested_again_after_a_pause(self) -> None:
        page = Page().ready()
        page.machine.subscribe(REQUEST)
        wrong = bytearray(snapshot([2, 3]))
        wrong[12 + 2] ^= 1
        page.get(subscribed(1), bytes(wrong))
        self.assertEqual([name for name, _, _ in page.sent()], ["subscribe", "unsubscribe"])
        page.get(frame("done", 2))
        page.wait(limits.SUBSCRIBE_AGAIN_SECONDS_MAX)
        self.assertEqual([name for name, _, _ in page.sent()], ["subscribe"])

    def test_a_subscription_that_a_stopping_server_refuses_waits_for_the_next_connection(self) -> None:
        page = Page().ready()
        page.machine.subscribe(REQUEST)
        page.get(error(1, "SHUTTING_DOWN", 4))
        page.lose()
        self.assertNotIn("Ended", kinds(page.events()))
        page.sent()
        page.reconnect()
        self.assertEqual([name for name, _, _ in page.sent()], ["subscribe"])

    def test_rows_with_other_values_than_requested_end_the_connection(self) -> None:
        page = Page().ready()
        page.machine.subscribe({**REQUEST, "projection": [1, 2]})
        page.get(subscribed(1))
        self.assertTrue(page.machine.wants_close)

    def test_a_window_whose_state_was_wrong_stays_around_its_last_anchor(self) -> None:
        page = Page().ready()
        page.machine.subscribe({**REQUEST, "around": {"anchor": 2, "before": 1, "after": 1}})
        page.get(subscribed(1), snapshot([2, 3]))
        page.get(frame("totals", VIEW, revision=8, position=Position(9, 1, 4, 0, 4, 3)))
        page.sent()
        page.get(insertion([2], 4, 7, 8, position=Position(9, 1, 4, 0, 4, 3)))
        (_, (_, _, fields)) = page.sent()
        self.assertEqual((fields["resume"], fields["request"]["around"]["anchor"]), (None, 3))


if __name__ == "__main__":
    unittest.main()
