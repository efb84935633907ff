"""Requests of a machine: sent, answered, and sent again."""

from __future__ import annotations

import unittest

from nest.errors import NestError
from nest.machine import Answered, Ended, Failed, Ready

from .page import KEY, REQUEST, Page, error, frame, receipt, snapshot, write


class Calls(unittest.TestCase):
    def test_an_unanswered_write_is_sent_again_with_its_key(self) -> None:
        page = Page().ready()
        first, second = write(page, "first"), write(page, "second")
        sent = page.sent()
        page.lose()
        page.reconnect()
        again = page.sent()
        self.assertEqual([fields for _, _, fields in again], [fields for _, _, fields in sent])
        self.assertEqual([id for _, id, _ in again], [1, 2])
        page.get(receipt(1, is_replayed=True), receipt(2, 9))
        answers = [event for event in page.events() if isinstance(event, Answered)]
        self.assertEqual([(a.call, a.answer["is_replayed"]) for a in answers], [(first, True), (second, False)])

    def test_a_write_that_another_history_may_have_has_an_unknown_outcome(self) -> None:
        page = Page().ready()
        sent, page.now = write(page), page.now + 1
        page.sent()
        page.lose()
        unsent = write(page, "later")
        page.reconnect(history_id=bytes(16))
        failed = [event for event in page.events() if isinstance(event, Failed)]
        self.assertEqual([(f.call, f.error.name) for f in failed], [(sent, "OUTCOME_UNKNOWN")])
        self.assertEqual([name for name, _, _ in page.sent()], ["transaction"])
        page.get(receipt(1))
        self.assertEqual(page.events()[-1].call, unsent)

    def test_a_refusal_that_did_not_look_for_the_key_has_an_unknown_outcome(self) -> None:
        for code, name in (("NOT_PERMITTED", "OUTCOME_UNKNOWN"), ("CONFLICT", "CONFLICT")):
            page = Page().ready()
            write(page)
            page.lose()
            page.reconnect()
            page.get(error(1, code))
            self.assertEqual(page.events()[-1].error.name, name)

    def test_requests_that_go_away_did_not_execute_are_sent_again_and_the_others_are_answered(self) -> None:
        page = Page().ready()
        first, second = write(page, "a"), write(page, "b")
        page.sent()
        page.get(frame("goAway", code="SHUTTING_DOWN", last_request_id=1, retry_after=0, message="bye"))
        self.assertFalse(page.machine.wants_close)
        third = write(page, "c")
        self.assertEqual(page.sent(), [])
        page.get(receipt(1))
        self.assertTrue(page.machine.wants_close)
        page.lose()
        page.reconnect()
        titles = [fields["mutations"][0][1]["values"][0]["what"][1] for _, _, fields in page.sent()]
        self.assertEqual(titles, ["b", "c"])
        page.get(receipt(1), receipt(2))
        answers = [event.call for event in page.events() if isinstance(event, Answered)]
        self.assertEqual(answers, [first, second, third])

    def test_a_request_that_a_stopping_server_refuses_is_kept(self) -> None:
        page = Page().ready()
        number = write(page)
        page.get(error(1, "SHUTTING_DOWN", 4))
        self.assertTrue(page.machine.wants_close)
        page.lose()
        page.reconnect()
        page.get(receipt(1))
        self.assertEqual([event.call for event in page.events() if isinstance(event, Answered)], [number])

    def test_writes_that_a_stopping_server_refuses_keep_their_order(self) -> None:
        page = Page().ready()
        numbers = [write(page, title) for title in "abc"]
        page.sent()
        page.get(*(error(id, "SHUTTING_DOWN", 4) for id in (1, 2, 3)))
        write(page, "d")
        page.lose()
        page.reconnect()
        titles = [fields["mutations"][0][1]["values"][0]["what"][1] for _, _, fields in page.sent()]
        self.assertEqual(titles, ["a", "b", "c", "d"])
        page.get(receipt(1), receipt(2), receipt(3))
        self.assertEqual([event.call for event in page.events() if isinstance(event, Answered)], numbers)

    def test_an_error_of_a_write_that_may_have_happened_has_its_key(self) -> None:
        page = Page().ready()
        write(page)
        page.get(error(1, "STORAGE_FAILURE", 3))
        self.assertEqual(page.events()[-1].error.key, KEY)
        write(page)
        page.lose()
        page.reconnect(history_id=bytes(16))
        (failed,) = [event for event in page.events() if isinstance(event, Failed)]
        self.assertEqual((failed.error.name, failed.error.key), ("OUTCOME_UNKNOWN", KEY))

    def test_a_server_that_accepts_larger_frames_gets_them(self) -> None:
        page = Page().ready(frame_bytes_max=2 << 20)
        page.decoder.limit = 2 << 20
        steps = [
            ("insert", {"entity": 1, "values": [{"property": 1, "what": ("value", "x" * 65_000)}], "placements": []})
            for _ in range(20)
        ]
        fields = {"key": KEY, "name": "", "preconditions": [], "mutations": steps, "coalescing": None}
        page.machine.call("transaction", "receipt", fields, is_write=True)
        self.assertEqual([name for name, _, _ in page.sent()], ["transaction"])

    def test_control_frames_fit_whatever_limit_welcome_names(self) -> None:
        page = Page().ready(frame_bytes_max=0)
        page.get(frame("ping", payload=bytes(8)))
        self.assertEqual([name for name, _, _ in page.sent()], ["pong"])

    def test_a_call_that_waits_and_is_abandoned_is_not_sent(self) -> None:
        page = Page().ready(requests_in_flight_max=1)
        first, second = write(page, "a"), write(page, "b")
        self.assertFalse(page.machine.abandon(second))
        self.assertTrue(page.machine.abandon(first))
        page.get(receipt(1))
        self.assertEqual([name for name, _, _ in page.sent()], ["transaction", "cancel"])

    def test_an_abandoned_write_is_not_sent_again(self) -> None:
        page = Page().ready()
        page.machine.abandon(write(page))
        page.lose()
        page.reconnect()
        self.assertEqual(page.sent(), [])

    def test_no_more_requests_are_in_flight_than_welcome_allows(self) -> None:
        page = Page().ready(requests_in_flight_max=2)
        for _ in range(5):
            page.machine.call("getModel", "model")
        self.assertEqual([id for _, id, _ in page.sent()], [1, 2])
        page.get(frame("model", 2, entities=[]))
        self.assertEqual([id for _, id, _ in page.sent()], [3])

    def test_a_request_for_another_model_is_not_sent(self) -> None:
        page = Page().ready()
        write(page, model=6)
        self.assertEqual(page.events()[-1].error.name, "SCHEMA_CHANGED")
        self.assertEqual(page.sent(), [])
        page.lose()
        write(page, model=5)
        subscription = page.machine.subscribe(REQUEST, 5)
        page.reconnect(model_hash=6)
        events = page.events()
        self.assertEqual([e.error.name for e in events if isinstance(e, Failed)], ["SCHEMA_CHANGED"])
        self.assertEqual([e.subscription for e in events if isinstance(e, Ended)], [subscription])

    def test_a_request_above_the_limit_of_the_server_is_refused(self) -> None:
        page = Page().ready(frame_bytes_max=100)
        write(page, "x" * 200)
        self.assertEqual((page.events()[-1].error.name, page.sent()), ("FRAME_TOO_LARGE", []))

    def test_an_abandoned_call_is_cancelled_and_its_answer_ignored(self) -> None:
        page = Page().ready()
        number = page.machine.call("getModel", "model")
        page.machine.abandon(number)
        self.assertEqual([(name, id) for name, id, _ in page.sent()], [("getModel", 1), ("cancel", 1)])
        page.events()
        page.get(frame("model", 1, entities=[]))
        self.assertEqual(page.events(), [])
        self.assertFalse(page.machine.wants_close)

    def test_a_fetch_is_answered_by_a_state(self) -> None:
        page = Page().ready()
        number = page.machine.call("fetch", "snapshot", {"at_least": 0, "request": REQUEST}, projection=(1,))
        page.events()
        page.get(snapshot([2, 3], id=1))
        (answer,) = page.events()
        self.assertEqual((answer.call, [row.id for row in answer.answer.sections[0].rows]), (number, [2, 3]))

    def test_an_answer_to_no_request_or_of_another_kind_ends_the_connection(self) -> None:
        for data in (receipt(9), frame("done", 1)):
            page = Page().ready()
            write(page)
            page.get(data)
            self.assertTrue(page.machine.wants_close)

    def test_closing_fails_what_waits(self) -> None:
        page = Page().ready()
        write(page)
        page.machine.call("getModel", "model")
        page.machine.subscribe(REQUEST)
        page.machine.call("getModel", "model")
        page.machine.shut()
        events = [event for event in page.events() if not isinstance(event, Ready)]
        failed = [event.error for event in events if isinstance(event, Failed)]
        self.assertEqual(len({id(error) for error in failed}), 3, "two programs get the same exception")
        names = [event.error and event.error.name for event in events]
        self.assertEqual(names, ["OUTCOME_UNKNOWN", "CLOSED", "CLOSED", None, None])
        for begin in (lambda: write(page), lambda: page.machine.subscribe(REQUEST)):
            with self.assertRaises(NestError) as caught:
                begin()
            self.assertEqual(caught.exception.name, "CLOSED")


if __name__ == "__main__":
    unittest.main()
