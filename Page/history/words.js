// The words of /history. Pure.

import { count, labelText } from '../shell/format.js';
import { personText } from '../shell/names.js';

/** What a transaction is, before its name: nothing for a write. */
export const kindText = ({ kind, reverted }) => (kind === 'write' ? '' : `${kind} of ${reverted ?? 'something'}`);

/** The author and revision of the last change: " by Ann in revision 7"; empty if the journal no longer has it. */
function since({ revision, sessionNumber, user, userClaimed }) {
  const who = sessionNumber === null && !user ? '' : ` by ${personText({ user, userClaimed, sessionNumber })}`;
  return `${who}${revision === null ? '' : ` in revision ${revision}`}`;
}

/**
 * A conflict in words: what an undo leaves, or overwrites. `isLoss`: whether it loses a later change.
 */
export function conflictText(conflict) {
  const { reason, entity, object, property, label } = conflict;
  const it = label ? `“${labelText(label)}”` : `${labelText(entity)} #${object}`;
  const its = property === null ? it : `${labelText(property)} of ${it}`;
  switch (reason) {
    case 'edited': return { text: `${its} stays: changed${since(conflict)}`, isLoss: false };
    case 'moved': return { text: `${it} stays where it is: moved${since(conflict)}`, isLoss: false };
    case 'deleted': return { text: `${it} is gone: deleted${since(conflict)}`, isLoss: false };
    case 'present': return { text: `${it} is there again${since(conflict)}`, isLoss: false };
    case 'ownerGone': return { text: `${its} stays empty: what it led to is deleted${since(conflict)}`, isLoss: false };
    case 'rehomed': return { text: `${it} comes back elsewhere: what it was under is deleted`, isLoss: false };
    case 'overwritten': return { text: `${its} is overwritten: changed${since(conflict)}`, isLoss: true };
    case 'lost': return { text: `${it} is deleted: changed${since(conflict)}`, isLoss: true };
    default: return { text: `${its}: ${labelText(reason)}${since(conflict)}`, isLoss: false };
  }
}

/** What an undo does to how many objects: "2 objects come back, 1 changes". */
export function effectText({ insertedCount, updatedCount, deletedCount }) {
  const parts = [
    insertedCount > 0 && `${count(insertedCount, 'object comes', 'objects come')} back`,
    updatedCount > 0 && count(updatedCount, 'object changes', 'objects change'),
    deletedCount > 0 && `${count(deletedCount, 'object is', 'objects are')} deleted`,
  ].filter(Boolean);
  return parts.length === 0 ? 'Nothing would change.' : `${parts.join(', ')}.`;
}

/** What the user can do about a refusal; null: nothing. */
export function adviceText({ code }) {
  return {
    UNDO_CONFLICT: 'Force overwrites what others have changed since.',
    OWNER_GONE: 'What it was under is deleted: restore that first, or let it come back elsewhere.',
    REVISION_DROPPED: 'The journal no longer has this transaction: it cannot be taken back.',
    FORBIDDEN: 'Another session wrote it.',
  }[code] ?? null;
}
