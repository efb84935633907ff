// What a session can undo, and the messages that do it: for programs that undo. Importing this file adds them to
// messages.js.
import { Limits } from './limits-more.js';
import { malformed } from './bytes.js';
import {
  choice, codec, flags, list, number16, object, orNull, struct, text, trailing, varint,
} from './codec.js';
import { addMessages, key, receiptFields } from './messages.js';

const name = text(Limits.nameBytesMax);
export const bool = codec((r) => r.u8() !== 0, (w, v) => w.u8(v ? 1 : 0));
export const orNothing = orNull(varint);

/** The label of a user, null if none is known, and whether it is a claim that no server has checked. */
export const user = codec((r) => {
  const label = name.read(r);
  const userClaimed = r.u8() !== 0;
  return { user: label || null, userClaimed: userClaimed && label !== '' };
}, null);
export const nobody = { user: null, userClaimed: false };

/** Reads what follows a list at the end of a body, one for each item; `absent` if nothing does. Items grow by it. */
export function eachWith(r, items, of, each, absent) {
  const all = r.left > 0 ? list(of, each, items.length).read(r) : null;
  if (all && all.length !== items.length) throw malformed('the users of a list are of another list');
  items.forEach((item, i) => Object.assign(item, all ? all[i] : absent));
}

export const policies = choice(['keep', 'force', 'strict']);
export const rehomes = flags(['rehomes']);

const undo = struct({
  key,
  '.options': trailing(struct({ policy: policies, '.flags': rehomes, expected: orNothing }),
    { policy: 'keep', rehomes: false, expected: null }),
});
export const conflict = struct({
  reason: choice(['edited', 'moved', 'deleted', 'present', 'ownerGone', 'rehomed', 'overwritten', 'lost'], 0, 'other'),
  entity: number16, object, property: orNull(number16), revision: orNothing, sessionNumber: orNothing, label: name,
});
export const conflicts = codec((r) => {
  const count = r.varint();
  return { count, listed: list(conflict, 7, Math.min(count, Limits.undoConflictsMax)).read(r) };
}, null);

/** A body that ends with the users of a list in it. */
export const withUsers = (of, items) => codec((r) => {
  const from = of.read(r);
  eachWith(r, items(from), user, 2, nobody);
  return from;
}, (w, v) => {
  of.write(w, v);
  if (items(v).some((one) => one.user)) list(user).write(w, items(v));
});

const receipt = withUsers(struct({
  ...receiptFields, '.conflicts': trailing(struct({ conflicts }), { conflicts: null }),
}), (from) => from.conflicts?.listed ?? []);

export const undoEntry = codec((r) => {
  const revision = r.varint();
  return revision ? { revision, transactionCount: r.varint(), name: name.read(r) } : null;
}, null);

addMessages({
  receipt: [0x11, receipt],
  undo: [0x12, undo],
  redo: [0x13, undo],
  revert: [0x50, struct({ key, policy: policies, '.flags': rehomes, revision: varint, ofAnyone: bool })],
  getUndoState: [0x56, struct({ follows: bool })],
  undoState: [0x57, struct({
    undo: undoEntry, redo: undoEntry, undoCount: varint, redoCount: varint, blockedCount: varint, droppedCount: varint,
    group: orNothing,
  })],
});
