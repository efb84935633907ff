"""The connections of a machine without sockets and without time: a test plays the server."""

from __future__ import annotations

import unittest

from nest.machine import Answered, Closed, Lost, Ready
from nest.wire import limits

from .page import PREFACE, REQUEST, SESSION, Page, error, frame


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

    def test_each_server_is_tried_once_and_then_the_next_after_each_loss(self) -> None:
        page = Page(server_count=3)
        servers = []
        while page.machine.wants_connection:
            servers.append(page.machine.server)
            page.machine.closed(page.now, "no server listens")
        self.assertEqual((servers, page.events()[-1].error.name), ([0, 1, 2], "UNREACHABLE"))
        page = Page(server_count=2)
        page.machine.closed(page.now, "no server listens")
        self.assertEqual(page.events(), [])
        page.ready()
        page.lose()
        self.assertEqual(page.machine.server, 0)
        page.reconnect()
        page.lose()
        self.assertEqual(page.machine.server, 1)

    def test_a_refused_token_is_not_tried_at_the_next_server(self) -> None:
        page = Page(server_count=2).open()
        page.get(PREFACE + error(0, "UNAUTHENTICATED"))
        page.lose()
        self.assertFalse(page.machine.wants_connection)

    def test_the_next_node_of_a_cluster_is_tried_at_once(self) -> None:
        page = Page(server_count=2).ready(node_role="follower", store="s")
        page.now += limits.RECONNECT_NODE_HEALTHY_SECONDS
        page.events()
        page.lose()
        self.assertEqual(page.events()[0].pause, 0)

    def test_a_client_that_was_never_connected_does_not_go_on(self) -> None:
        page = Page()
        page.machine.closed(page.now, "no server listens")
        (closed,) = page.events()
        self.assertEqual((closed.error.name, closed.error.text), ("UNREACHABLE", "no server listens"))
        self.assertFalse(page.machine.wants_connection)


if __name__ == "__main__":
    unittest.main()
