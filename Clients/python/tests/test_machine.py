"""The machine without sockets and without time: a test plays the server."""

from __future__ import annotations

import os
import random
import unittest
from typing import Any

from nest.errors import NestError
from nest.machine import (
    Answered,
    Changed,
    Closed,
    Ended,
    Failed,
    Interrupted,
    Lost,
    PositionChanged,
    Ready,
    Replaced,
    Resumed,
)
from nest.wire import limits
from nest.wire.messages import decode
from nest.wire.rows import Position

from .page import (
    HISTORY,
    REQUEST,
    SESSION,
    VIEW,
    Page,
    error,
    frame,
    insertion,
    receipt,
    snapshot,
    subscribed,
    welcome,
)

PREFACE = b"NEST" + bytes((1, 1, 1, 0))
KEY = bytes(16)


def write(page: Page, title: str = "x", model: int | None = 5) -> int:
    step = ("insert", {"entity": 1, "values": [{"property": 1, "what": ("value", title)}], "placements": []})
    fields = {"key": KEY, "name": "", "preconditions": [], "mutations": [step], "coalescing": None}
    return page.machine.call("transaction", "receipt", fields, model=model, is_write=True)


def kinds(events: Any) -> list[str]:
    return [type(event).__name__ for event in events]


class Handshakes(unittest.TestCase):
    def test_hello_has_the_session_and_the_token(self) -> None:
        page = Page(token=(7, bytes(32)), user="Ann", client_name="t").open()
        ((name, id, fields),) = page.sent()
        self.assertEqual((page.preface, name, id), (b"NEST\1\1\0\0", "hello", 0))
        self.assertEqual((fields["session"], fields["client_name"], fields["user"]), (SESSION, "t", "Ann"))
        self.assertEqual(fields["token"], {"number": 7, "secret": bytes(32)})

    def test_requests_wait_for_welcome(self) -> None:
        page = Page()
        number = page.machine.call("getModel", "model")
        page.ready()
        self.assertEqual([(name, id) for name, id, _ in page.sent()], [("getModel", 1)])
        page.get(frame("model", 1, entities=[]))
        ready, answer = page.events()
        self.assertIsInstance(ready, Ready)
        self.assertEqual(answer, Answered(number, {"entities": []}))

    def test_another_protocol_is_noticed_at_its_first_byte(self) -> None:
        page = Page().open()
        page.get(b"H")
        self.assertTrue(page.machine.wants_close)
        page.lose()
        (closed,) = page.events()
        self.assertEqual((type(closed), closed.error.name), (Closed, "PROTOCOL"))

    def test_a_server_without_a_common_version_is_not_tried_again(self) -> None:
        page = Page().open()
        page.get(b"NEST" + bytes((0, 3, 2, 0)))
        (closed,) = page.events()
        self.assertEqual(closed.error.name, "VERSION_MISMATCH")
        self.assertIn("2 to 3", closed.error.text)
        page.lose()
        self.assertFalse(page.machine.wants_connection)

    def test_a_refused_token_ends_the_client_even_after_years(self) -> None:
        for code in ("UNAUTHENTICATED", "TOKEN_EXPIRED"):
            page = Page().ready()
            page.events()
            number = page.machine.call("getModel", "model")
            subscription = page.machine.subscribe(REQUEST)
            page.get(error(0, code))
            failed, ended, closed = page.events()
            self.assertEqual((failed.call, failed.error.name), (number, code))
            self.assertEqual((ended.subscription, ended.error.name), (subscription, code))
            self.assertEqual((type(closed), page.machine.deadline), (Closed, None))

    def test_a_server_that_does_not_answer_hello_is_left(self) -> None:
        page = Page().open()
        self.assertEqual(page.machine.deadline, page.now + limits.HANDSHAKE_SECONDS)
        page.wait(limits.HANDSHAKE_SECONDS)
        self.assertTrue(page.machine.wants_close)
        page.lose()
        self.assertEqual(page.events()[0].error.name, "TIMED_OUT")

    def test_other_messages_before_welcome_are_a_mistake(self) -> None:
        page = Page().open()
        page.get(PREFACE + frame("progress", revision=1))
        self.assertTrue(page.machine.wants_close)

    def test_a_frame_before_welcome_has_at_most_4096_bytes(self) -> None:
        page = Page().open()
        page.get(PREFACE + (4097).to_bytes(4, "big") + bytes((2, 0, 0, 0, 0, 0, 0, 0)))
        page.lose()
        self.assertEqual(page.events()[0].error.name, "FRAME_TOO_LARGE")


class SignsOfLife(unittest.TestCase):
    def test_a_ping_is_answered_with_its_bytes(self) -> None:
        page = Page().ready()
        page.get(frame("ping", payload=b"12345678"))
        self.assertEqual(page.sent(), [("pong", 0, {"payload": b"12345678"})])

    def test_silence_is_followed_by_a_ping_and_then_by_the_end(self) -> None:
        page = Page().ready(ping_interval_milliseconds=5000)
        self.assertEqual(page.machine.deadline, page.now + 5)
        page.wait(4.9)
        self.assertEqual(page.sent(), [])
        page.wait(0.1)
        self.assertEqual([name for name, _, _ in page.sent()], ["ping"])
        page.wait(limits.PING_TIMEOUT_SECONDS - 0.1)
        self.assertFalse(page.machine.wants_close)
        page.wait(0.1)
        self.assertTrue(page.machine.wants_close)

    def test_any_byte_is_a_sign_of_life(self) -> None:
        page = Page().ready(ping_interval_milliseconds=5000)
        page.wait(5)
        page.sent()
        page.get(frame("progress", revision=7)[:1])
        page.wait(4.9)
        self.assertEqual(page.sent(), [])
        self.assertFalse(page.machine.wants_close)

    def test_unknown_messages_from_80_are_skipped_and_others_end_the_connection(self) -> None:
        page = Page().ready()
        page.get(bytes((0, 0, 0, 1, 0xF0, 0, 0, 0, 0, 0, 0, 0, 9)))
        self.assertFalse(page.machine.wants_close)
        page.get(bytes((0, 0, 0, 0, 0x7E, 0, 0, 0, 0, 0, 0, 0)))
        self.assertTrue(page.machine.wants_close)


class Connections(unittest.TestCase):
    def pauses(self, chance: float, count: int) -> list[float]:
        page = Page(random=lambda: chance).ready()
        pauses = []
        for _ in range(count):
            page.events()
            page.lose()
            (lost,) = [event for event in page.events() if isinstance(event, Lost)]
            pauses.append(lost.pause)
            page.now += lost.pause
            page.machine.time(page.now)
            page.open()
        return pauses

    def test_pauses_double_up_to_a_limit(self) -> None:
        longest = self.pauses(1.0, 12)
        self.assertEqual(longest[:4], [0.1, 0.2, 0.4, 0.8])
        self.assertEqual(longest[-1], limits.RECONNECT_SECONDS_MAX)

    def test_jitter_is_half_of_a_pause(self) -> None:
        self.assertEqual(self.pauses(0.0, 3), [0.05, 0.1, 0.2])

    def test_after_a_healthy_connection_the_next_attempt_is_at_once(self) -> None:
        page = Page().ready()
        page.now += limits.RECONNECT_HEALTHY_SECONDS
        page.events()
        page.lose()
        self.assertEqual(page.events()[0].pause, 0)

    def test_go_away_names_the_pause(self) -> None:
        page = Page().ready()
        page.get(frame("goAway", code="SHUTTING_DOWN", last_request_id=0, retry_after=7000, message=""))
        self.assertTrue(page.machine.wants_close)
        page.events()
        page.lose()
        (lost,) = page.events()
        self.assertEqual((lost.pause, lost.error.name), (7.0, "SHUTTING_DOWN"))

    def test_a_client_that_was_never_connected_does_not_go_on(self) -> None:
        page = Page()
        page.machine.closed(page.now, "nobody listens")
        (closed,) = page.events()
        self.assertEqual((closed.error.name, closed.error.text), ("UNREACHABLE", "nobody listens"))
        self.assertFalse(page.machine.wants_connection)


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
        page.machine.shut()
        names = [event.error and event.error.name for event in page.events() if not isinstance(event, Ready)]
        self.assertEqual(names, ["OUTCOME_UNKNOWN", "CLOSED", None, None])
        write(page)
        self.assertEqual(page.events()[-1].error.name, "CLOSED")


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


def conversation() -> bytes:
    """What a server sends in a life with everything in it."""
    return b"".join(
        (
            PREFACE,
            welcome(),
            frame("ping", payload=b"abcdefgh"),
            subscribed(1),
            snapshot([2, 3]),
            frame("own", revisions=[8]),
            insertion([2, 3], 4, 7, 8),
            frame("progress", revision=8),
            receipt(2),
            snapshot([5, 6], id=3),
            error(4, "NOT_FOUND"),
            frame("totals", VIEW + 1, revision=8, position=Position(1, 1, 0, 0, 0, None)),
            insertion([2, 3, 4], 5, 8, 9),
            frame("subscriptionEnd", VIEW, code="SCHEMA_CHANGED", message="m"),
            frame("goAway", code="SHUTTING_DOWN", last_request_id=9, retry_after=5, message="bye"),
        )
    )


class Bytes(unittest.TestCase):
    def play(self, parts: list[bytes]) -> tuple[list[str], bytes]:
        page = Page()
        page.machine.subscribe(REQUEST, 5)
        write(page)
        page.machine.call("fetch", "snapshot", {"at_least": 0, "request": REQUEST}, projection=(1,))
        page.machine.call("getObject", "object", {"id": 9})
        page.open()
        page.get(*parts)
        page.lose()
        return [repr(self.plain(event)) for event in page.events()], page.machine.take_output()

    def plain(self, event: Any) -> Any:
        """An event in a form that is equal when it says the same."""
        error = getattr(event, "error", None)
        if isinstance(error, NestError):
            return type(event).__name__, error.name, error.text, error.retry
        return event

    def seed(self) -> random.Random:
        seed = int(os.environ.get("NEST_SEED", random.SystemRandom().randrange(2**32)))
        print(f"NEST_SEED={seed}", flush=True)
        return random.Random(seed)

    def test_the_cuts_of_the_transport_change_nothing(self) -> None:
        data = conversation()
        whole = self.play([data])
        self.assertEqual(
            [event[:8] for event in whole[0][:2]], ["Ready(we", "Replaced"], "the conversation does not end early"
        )
        self.assertIn("bye", whole[0][-1])
        self.assertEqual(self.play([bytes((byte,)) for byte in data]), whole)
        chance = self.seed()
        for _ in range(50):
            cuts = sorted(chance.sample(range(len(data)), 5))
            parts = [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]
            self.assertEqual(self.play(parts), whole)

    def test_damaged_bytes_never_raise(self) -> None:
        data = conversation()
        chance = self.seed()
        for _ in range(1500):
            damaged = bytearray(data)
            for _ in range(chance.choice((1, 1, 2, 8))):
                damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
            end = chance.choice((len(damaged), chance.randrange(len(damaged))))
            with self.subTest(bytes(damaged[:end]).hex()):
                self.play([bytes(damaged[:end])])

    def test_damaged_bodies_are_refused_with_one_exception(self) -> None:
        from nest.errors import ProtocolError

        from . import vectors

        chance = self.seed()
        frames = [v for v in vectors.load("frames") if v["type"] not in vectors.OF_NODES and not v["flags"] & 2]
        refused = 0
        for _ in range(6000):
            vector = chance.choice(frames)
            body = bytearray(vectors.bytes_of(vector["hex"])[12:])
            for _ in range(chance.choice((1, 2, 4))):
                if body:
                    body[chance.randrange(len(body))] = chance.randrange(256)
            cut = bytes(body[: chance.randrange(len(body) + 1)]) if chance.random() < 0.3 else bytes(body)
            width = vector["fields"].get("valueCount", 0)
            try:
                decode(vector["type"], cut, width, chance.random() < 0.5)
            except ProtocolError:
                refused += 1
        self.assertGreater(refused, 500)


if __name__ == "__main__":
    unittest.main()
