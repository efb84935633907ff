"""A server that comes back with another model: what the machine asks, what goes on, and what ends."""

from __future__ import annotations

import unittest
from typing import Any

from nest.machine import Answered, Ended, Failed, FeedBegan, Ready, Replaced, Resumed
from nest.machine.models import Models, extends
from nest.wire import compression, limits
from nest.wire.frames import COMPRESSED
from nest.wire.messages import MESSAGES, encode

from .page import (
    REQUEST,
    VIEW,
    Page,
    attribute,
    entity,
    error,
    frame,
    kinds,
    model,
    receipt,
    snapshot,
    subscribed,
    welcome,
    write,
)

TITLE = attribute(1, "title")
OLD = entity(1, "Item", TITLE)
#: It extends OLD, and OTHER does not.
NEW = entity(1, "Item", TITLE, attribute(2, "note"))
OTHER = entity(1, "Item", attribute(1, "name"))
#: Their hashes.
OLD_HASH, NEW_HASH, OTHER_HASH = 5, 6, 7


class KnownModels(unittest.TestCase):
    def test_more_is_not_less(self) -> None:
        """A model that has more does not go on in the one that it extends."""
        self.assertTrue(extends({"entities": [NEW]}, {"entities": [OLD]}))
        self.assertFalse(extends({"entities": [OLD]}, {"entities": [NEW]}))

    def test_what_an_extended_model_has_extended_stays_valid_when_it_is_no_longer_kept(self) -> None:
        models = Models()
        for hash in range(3 * limits.MODELS_READ_MAX):
            extra = [attribute(number, f"extra{number}") for number in range(2, hash + 2)]
            models.read(hash, {"entities": [entity(1, "Item", TITLE, *extra)]})
            models.enter(hash)
        self.assertIsNone(models.get(0))
        self.assertIsNone(models.error(0))
        self.assertEqual(models.newest([hash, hash - 2, hash - 1]), hash)
        self.assertIsNone(models.newest([hash, 0]))

    def test_without_a_model_that_was_read_there_is_nothing_to_compare(self) -> None:
        models = Models()
        models.enter(1)
        self.assertFalse(models.must_compare(2))
        models.enter(2)
        failure = models.error(1)
        self.assertEqual(failure and failure.name, "SCHEMA_CHANGED")
        self.assertIsNone(models.error(None))

    def test_a_projection_is_spelled_out_with_what_the_old_model_has(self) -> None:
        models = Models()
        many, one = ({"number": 4, "name": "x", "is_to_many": to_many} for to_many in (True, False))
        relationships = [many, {**one, "number": 3}]
        models.read(
            1,
            {
                "entities": [
                    entity(1, "A", attribute(5, "b"), TITLE, relationships=relationships),  # type: ignore[typeddict-item]
                    entity(2, "B"),
                    entity(3, "C", TITLE),
                    entity(4, "D", TITLE, parent=3),
                ]
            },
        )
        models.enter(1)
        self.assertEqual(models.spelled_out({"entity": 1}, 1), {"entity": 1}, "the server has this model")
        models.read(2, {"entities": []})
        models.enter(2)
        spelled: list[Any] = [models.spelled_out({"entity": number}, 1)["projection"] for number in (1, 2, 3, 4)]
        self.assertEqual(spelled, [[1, 3, 5], [0], [0, 1], [1]])
        outline = models.spelled_out({"entity": 4, "projection": [], "columns": [{}, {}], "outline": {"expansion": ("all", 0)}}, 1)
        self.assertEqual(outline["projection"], [1, 65280, 65281, 65534, 65535])
        self.assertEqual(models.spelled_out({"entity": 1, "projection": [5]}, 1)["projection"], [5])
        for request, hash in (({"entity": 9}, 1), ({"entity": 1}, 8), ({"entity": 1}, None)):
            self.assertEqual(models.spelled_out(request, hash), request)  # type: ignore[arg-type]


class ModelChanges(unittest.TestCase):
    def reading(self, **options: Any) -> Page:
        """A client that has read the model OLD."""
        page = Page(**options).ready(features=22)
        number = page.machine.call("getModel", "model")
        page.get(model(1, OLD))
        self.assertEqual(page.events()[1:], [Answered(number, {"entities": [OLD]})])
        page.sent()
        return page

    def following(self, request: Any = REQUEST) -> tuple[Page, int]:
        """A client that follows a result made for OLD, and has lost its connection."""
        page = self.reading()
        number = page.machine.subscribe(request, OLD_HASH)
        page.get(subscribed(2), snapshot([3, 4]))
        page.events()
        page.sent()
        page.lose()
        self.assertEqual(sorted(kinds(page.events())), ["Interrupted", "Lost"])
        return page, number

    def test_an_extension_lets_everything_go_on(self) -> None:
        page, number = self.following()
        feed = page.machine.follow_changes(None, [1], OLD_HASH)
        written = write(page, model=OLD_HASH)
        page.reconnect(model_hash=NEW_HASH)
        self.assertEqual(page.sent(), [("getModel", 1, {})], "GET_MODEL comes before everything else")
        self.assertEqual(page.events(), [])
        late = write(page, model=OLD_HASH)
        self.assertEqual(page.sent(), [])
        page.get(model(1, NEW))
        self.assertEqual(kinds(page.events()), ["Ready"])
        sent = page.sent()
        names = [(name, id) for name, id, _ in sent]
        self.assertEqual(names, [("subscribe", 2), ("subscribeChanges", 3), ("transaction", 4), ("transaction", 5)])
        self.assertEqual(sent[0][2]["resume"]["revision"], 7)
        page.get(
            subscribed(2, "current", 7),
            frame("subscribed", 3, view=VIEW + 1, first="current", revision=7, reason="", projection=[]),
            receipt(4, 8),
            receipt(5, 9),
        )
        resumed, began, *answers = page.events()
        self.assertEqual((type(resumed), resumed.subscription), (Resumed, number))
        self.assertEqual((type(began), began.subscription), (FeedBegan, feed))
        self.assertEqual([(type(one), one.call) for one in answers], [(Answered, written), (Answered, late)])
        # What a program makes now is valid for either model, and on the next connection nothing is asked.
        for hash in (OLD_HASH, NEW_HASH):
            page.machine.subscribe(REQUEST, hash)
        self.assertEqual(page.events(), [])
        page.lose()
        page.reconnect(model_hash=NEW_HASH)
        self.assertNotIn("getModel", [name for name, _, _ in page.sent()])

    def test_what_is_no_extension_ends_everything_that_was_made_for_the_old_model(self) -> None:
        page, number = self.following()
        feed = page.machine.follow_changes(None, [1], OLD_HASH)
        written = write(page, model=OLD_HASH)
        undone = page.machine.call("getUndoState", "undoState", {"follows": False})
        page.reconnect(model_hash=OTHER_HASH)
        page.sent()
        page.get(model(1, OTHER))
        ready, failed, *ended = page.events()
        self.assertIsInstance(ready, Ready)
        self.assertEqual((type(failed), failed.call, failed.error.name), (Failed, written, "SCHEMA_CHANGED"))
        self.assertEqual(
            [(type(one), one.subscription, one.error.name) for one in ended],
            [(Ended, number, "SCHEMA_CHANGED"), (Ended, feed, "SCHEMA_CHANGED")],
        )
        self.assertEqual([(name, id) for name, id, _ in page.sent()], [("getUndoState", 2)])
        again = page.machine.subscribe(REQUEST, OLD_HASH)
        page.machine.subscribe(REQUEST, OTHER_HASH)
        (refused,) = page.events()
        self.assertEqual((refused.subscription, refused.error.name), (again, "SCHEMA_CHANGED"))
        self.assertIsNotNone(page.machine.models.get(OTHER_HASH))
        self.assertGreater(undone, written)

    def test_a_write_that_was_sent_has_an_unknown_outcome_if_the_model_is_no_extension(self) -> None:
        page = self.reading()
        number = write(page, model=OLD_HASH)
        page.lose()
        page.reconnect(model_hash=OTHER_HASH)
        page.get(model(1, OTHER))
        (failed,) = [one for one in page.events() if isinstance(one, Failed)]
        self.assertEqual((failed.call, failed.error.name), (number, "OUTCOME_UNKNOWN"))

    def test_a_client_that_has_read_no_model_cannot_compare(self) -> None:
        page = Page().ready()
        number = page.machine.subscribe(REQUEST, OLD_HASH)
        page.lose()
        page.reconnect(model_hash=NEW_HASH)
        self.assertEqual(page.sent(), [])
        ended = page.events()[-1]
        self.assertEqual((ended.subscription, ended.error.name), (number, "SCHEMA_CHANGED"))

    def test_an_error_to_get_model_closes_the_connection_and_the_next_one_asks_again(self) -> None:
        page, number = self.following()
        for code, retry_after in (("BUSY", 2000), ("INTERNAL", 0), ("SHUTTING_DOWN", 0)):
            page.reconnect(model_hash=NEW_HASH)
            page.sent()
            page.get(error(1, code, retry=2, retry_after=retry_after))
            self.assertTrue(page.machine.wants_close)
            page.lose()
            (lost,) = page.events()
            self.assertEqual(lost.error.name, code)
            self.assertGreaterEqual(lost.pause, retry_after / 1000)
            self.assertGreater(lost.pause, 0)
        page.reconnect(model_hash=NEW_HASH)
        self.assertEqual(page.sent(), [("getModel", 1, {})])
        page.get(model(1, NEW), subscribed(2, "current", 7))
        self.assertEqual(kinds(page.events()), ["Ready", "Resumed"])
        self.assertEqual(page.sent()[0][0], "subscribe")
        page.machine.unsubscribe(number)

    def test_a_connection_that_is_lost_while_the_model_is_awaited_changes_nothing(self) -> None:
        page, _ = self.following()
        written = write(page, model=OLD_HASH)
        page.reconnect(model_hash=OTHER_HASH)
        page.sent()
        page.lose()
        self.assertEqual(kinds(page.events()), ["Lost"])
        # The next server has the old model: nothing is asked.
        page.reconnect(model_hash=OLD_HASH)
        self.assertEqual([name for name, _, _ in page.sent()], ["subscribe", "transaction"])
        page.get(subscribed(1, "current", 7), receipt(2))
        ready, resumed, answered = page.events()
        self.assertEqual((type(ready), type(resumed), answered.call), (Ready, Resumed, written))

    def test_a_model_that_arrives_after_its_connection_is_ignored(self) -> None:
        page, _ = self.following()
        page.reconnect(model_hash=NEW_HASH)
        page.get(error(1, "INTERNAL"), model(1, OTHER))
        page.lose()
        self.assertEqual(kinds(page.events()), ["Lost"])

    def test_the_time_of_the_handshake_covers_the_model(self) -> None:
        page, _ = self.following()
        page.reconnect(model_hash=NEW_HASH)
        page.wait(limits.HANDSHAKE_SECONDS)
        self.assertTrue(page.machine.wants_close)
        page.lose()
        (lost,) = page.events()
        self.assertEqual((lost.error.name, lost.error.text), ("TIMED_OUT", "the server does not send its model"))

    def test_other_messages_are_answered_while_the_model_is_awaited(self) -> None:
        page, _ = self.following()
        page.reconnect(model_hash=NEW_HASH)
        page.sent()
        page.get(frame("ping", payload=b"12345678"), frame("progress", revision=9), frame("own", revisions=[8]))
        self.assertEqual(page.sent(), [("pong", 0, {"payload": b"12345678"})])
        page.get(model(1, NEW))
        self.assertEqual(kinds(page.events()), ["Ready"])

    def test_mistakes_while_the_model_is_awaited_end_the_connection(self) -> None:
        for mistake in (welcome(model_hash=NEW_HASH), model(2, NEW), receipt(1)):
            page, _ = self.following()
            page.reconnect(model_hash=NEW_HASH)
            page.get(mistake)
            self.assertTrue(page.machine.wants_close)
            page.lose()
            self.assertEqual(page.events()[0].error.name, "PROTOCOL")

    def test_a_server_that_leaves_while_the_model_is_awaited_is_left(self) -> None:
        page, _ = self.following()
        page.reconnect(model_hash=NEW_HASH)
        page.get(frame("goAway", code="SCHEMA_CHANGED", last_request_id=0, retry_after=3000, message=""))
        self.assertTrue(page.machine.wants_close)
        page.lose()
        (lost,) = page.events()
        self.assertEqual((lost.error.name, lost.pause), ("SCHEMA_CHANGED", 3.0))

    @unittest.skipUnless(compression.IS_AVAILABLE, "zstandard is missing")
    def test_the_model_may_be_compressed(self) -> None:
        import zstandard

        page = self.reading(unpacks=True)
        page.lose()
        page.reconnect(model_hash=NEW_HASH, features=22)
        page.events()
        body = zstandard.ZstdCompressor().compress(encode("model", {"entities": [NEW]}))
        head = len(body).to_bytes(4, "big") + bytes((MESSAGES["model"][0], COMPRESSED, 0, 0)) + (1).to_bytes(4, "big")
        page.get(head + body)
        self.assertEqual(kinds(page.events()), ["Ready"])
        self.assertEqual(page.machine.models.get(NEW_HASH), {"entities": [NEW]})

    def test_an_empty_projection_is_spelled_out_before_it_is_sent_again(self) -> None:
        request = {**REQUEST, "projection": []}
        page, number = self.following(request)
        page.reconnect(model_hash=NEW_HASH)
        page.sent()
        page.get(model(1, NEW))
        ((_, _, fields),) = page.sent()
        self.assertEqual((fields["request"]["projection"], fields["resume"]["revision"]), ([1], 7))
        # A request that a program still holds, too.
        page.machine.subscribe(request, OLD_HASH)
        page.machine.subscribe(request, NEW_HASH)
        projections = [fields["request"]["projection"] for _, _, fields in page.sent()]
        self.assertEqual(projections, [[1], []])
        page.machine.unsubscribe(number)

    def test_rows_with_other_values_are_not_resumed(self) -> None:
        """An entity that stored nothing: its rows have no value, and from now on their entity."""
        page = Page().ready()
        page.machine.call("getModel", "model")
        page.get(model(1, entity(1, "Item")))
        number = page.machine.subscribe({"entity": 1}, OLD_HASH)
        nothing: Any = {"view": VIEW, "first": "snapshot", "revision": 0, "reason": "", "projection": []}
        page.get(frame("subscribed", 2, **nothing), snapshot([]))
        page.lose()
        page.reconnect(model_hash=NEW_HASH)
        page.events()
        page.sent()
        page.get(model(1, OLD))
        ((_, _, fields),) = page.sent()
        self.assertEqual((fields["request"]["projection"], fields["resume"]), ([0], None))
        page.get(frame("subscribed", 2, **{**nothing, "projection": [0]}))
        page.get(snapshot([]))
        self.assertEqual([type(one) for one in page.events()], [Ready, Replaced])
        page.machine.unsubscribe(number)

    def test_each_model_is_valid_where_it_is_extended(self) -> None:
        """A server that goes back: what was made for the old model goes on, what needs the new one ends."""
        page = self.reading()
        page.lose()
        page.reconnect(model_hash=NEW_HASH)
        page.get(model(1, NEW))
        old, new = page.machine.subscribe(REQUEST, OLD_HASH), page.machine.subscribe(REQUEST, NEW_HASH)
        page.events()
        page.lose()
        page.reconnect(model_hash=OLD_HASH)
        page.sent()
        page.get(model(1, OLD))
        (ended,) = [one for one in page.events() if isinstance(one, Ended)]
        self.assertEqual((ended.subscription, ended.error.name), (new, "SCHEMA_CHANGED"))
        self.assertEqual([name for name, _, _ in page.sent()], ["subscribe"])
        page.machine.unsubscribe(old)


if __name__ == "__main__":
    unittest.main()
