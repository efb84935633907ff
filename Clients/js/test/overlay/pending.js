// The states of pending writes, by scripted events.

import { Pending, PendingWrite } from '../../overlay/pending.js';
import { same } from '../rules/same.js';

/** A pending queue with so many writes. */
function queue(count) {
  const pending = new Pending();
  const writes = Array.from({ length: count }, () => new PendingWrite());
  for (const write of writes) pending.add(write);
  const over = (head) => pending.over(head).map((write) => writes.indexOf(write));
  return { pending, writes, over, phases: () => writes.map(({ phase }) => phase) };
}

export function run(_, test) {
  test('a write is laid over each list until that list has its revision', () => {
    const { pending, writes: [write], over } = queue(1);
    same(over(7), [0]);
    pending.sent(write);
    same(over(7), [0]);
    pending.named(write, 8);
    same([over(7), over(8), pending.isBetween([7, 8]), pending.isBetween([8, 9])], [[0], [], true, false]);
    pending.received(write, { revision: 8, isChanged: true });
    same([over(7), over(8), pending.isBetween([7])], [[0], [], false]);
    same([pending.reached([7, 8]).length, pending.reached([8, 9]).length, write.phase], [0, 1, 'settled']);
    same(pending.writes, []);
  });

  test('a write in the place of a refused one comes before those that were made after it and are not sent', () => {
    const { pending, writes: [a, b, c], over } = queue(3);
    [a, b, c].forEach((write, index) => { write.place = index + 1; });
    pending.sent(a);
    pending.sent(b);
    c.phase = 'open';
    pending.end(a, 'refused');
    pending.foresaw([c]);
    same(over(1), [1]);
    const again = Object.assign(new PendingWrite(), { place: a.place });
    pending.add(again);
    same(pending.writes, [b, again, c]);
    // What was hopeless without it is shown again.
    same(over(1), [1, -1, 2]);
    const last = Object.assign(new PendingWrite(), { place: 4 });
    pending.add(last);
    same(pending.writes, [b, again, c, last]);
  });

  test('a write in the place of a refused one does not come between a sent write and the undo of it', () => {
    const { pending, writes: [a, b, undo, c] } = queue(4);
    [a, b, undo, c].forEach((write, index) => { write.place = index + 1; });
    undo.targets = [b];
    pending.sent(a);
    pending.sent(b);
    pending.end(a, 'refused');
    const again = Object.assign(new PendingWrite(), { place: a.place });
    pending.add(again);
    same(pending.writes, [b, undo, again, c]);
  });

  test('it comes before a write that is not sent, and the undo of that one', () => {
    const { pending, writes: [a, b, undo] } = queue(3);
    [a, b, undo].forEach((write, index) => { write.place = index + 1; });
    undo.targets = [b];
    pending.sent(a);
    pending.end(a, 'refused');
    const again = Object.assign(new PendingWrite(), { place: a.place });
    pending.add(again);
    same(pending.writes, [again, b, undo]);
  });

  test('a receipt alone commits; a write that changed nothing is settled by it', () => {
    const { pending, writes: [a, b], phases, over } = queue(2);
    pending.sent(a);
    pending.sent(b);
    pending.received(a, { revision: 3, isChanged: true });
    pending.received(b, { revision: 3, isChanged: false });
    same([phases(), over(2), pending.isBetween([2])], [['committed', 'settled'], [0], false]);
    same(pending.reached([]).length, 1);
  });

  test('without lists a confirmed write is settled', () => {
    const { pending, writes: [write], phases } = queue(1);
    pending.received(write, { revision: 1, isChanged: true });
    pending.reached([]);
    same(phases(), ['settled']);
  });

  test('a lost connection leaves what was sent doubtful, and shown', () => {
    const { pending, writes, phases, over } = queue(3);
    pending.sent(writes[0]);
    pending.named(writes[0], 5);
    pending.sent(writes[1]);
    pending.lost();
    same([phases(), over(4), pending.isDoubtful], [['committed', 'doubtful', 'queued'], [0, 1, 2], true]);
    // Sent again, a server that has it answers by its receipt alone.
    pending.received(writes[1], { revision: 6, isChanged: true });
    same([pending.isDoubtful, over(5), over(6)], [false, [1, 2], [2]]);
  });

  test('a write that was not executed is queued again in its place; one that may have been is doubtful', () => {
    const { pending, writes, phases, over } = queue(2);
    for (const write of writes) pending.sent(write);
    pending.again(writes[0]);
    pending.doubted(writes[1]);
    same([phases(), over(1)], [['queued', 'doubtful'], [0, 1]]);
    pending.sent(writes[0]);
    pending.sent(writes[1]);
    same(phases(), ['sent', 'doubtful']);
  });

  test('a refused write is laid no more, and the others stay', () => {
    const { pending, writes, phases, over } = queue(3);
    pending.sent(writes[0]);
    pending.end(writes[1], 'refused');
    same([phases(), over(0)], [['sent', 'refused', 'queued'], [0, 2]]);
    pending.named(writes[1], 9);
    pending.received(writes[1], { revision: 9, isChanged: true });
    same(phases(), ['sent', 'refused', 'queued']);
  });

  test('under another history writes that are not confirmed are parked', () => {
    const { pending, writes, phases } = queue(4);
    writes.forEach((write, index) => {
      write.history = index < 3 ? 'old' : 'new';
    });
    pending.sent(writes[0]);
    pending.named(writes[0], 9);
    pending.sent(writes[1]);
    pending.lost();
    same(pending.otherHistory('new'), [writes[1], writes[2]].map((write) => ({ ...write, phase: 'parked' })));
    same([phases(), pending.writes], [['settled', 'parked', 'parked', 'queued'], [writes[3]]]);
  });

  test('a write that is taken back is laid no more, whatever its phase is', () => {
    const { pending, writes, over } = queue(2);
    pending.named(writes[0], 4);
    writes[0].isShown = false;
    same([over(3), over(4)], [[1], [1]]);
  });

  test('the revision of a write of several is the last that is named', () => {
    const { pending, writes: [write], over } = queue(1);
    pending.named(write, 4);
    pending.named(write, 6);
    pending.named(write, 5);
    same([over(5), over(6)], [[0], []]);
  });
}
