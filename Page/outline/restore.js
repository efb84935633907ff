// What was typed before and is not stored: offered again when the outline is opened.

import { short } from './texts.js';

/** Offers the drafts of windows that have ended, if the server does not have them. */
export async function restore(page) {
  const { drafts, app, mayEdit } = page;
  if (!mayEdit) return;
  for (const draft of await drafts.found()) {
    if (typeof draft.text !== 'string' || draft.text.trim() === '') draft.done();
    else await restoreText(page, draft).catch(app.fault);
  }
}

/** A text of a row: it is what the server has, or can go on from it, or is offered. */
async function restoreText(page, { id, field, text, base, done }) {
  const { nest, source, app, texts, tree } = page;
  const object = await nest.object(id).catch((error) => {
    if (error.code === 'NOT_FOUND') return null;
    throw error;
  });
  if (!object || !source[field]) return offerRow(page, { text, done });
  const stored = object.values[source[field]] ?? '';
  if (stored === text) return done();
  const put = () => {
    const row = tree.row(id);
    const opened = texts.open(id, field, row ? row[field] : stored, row ? tree.revision : object.revision);
    done();
    texts.typed(opened, text, null);
    texts.flush(opened);
  };
  // Nobody has written there since.
  if (stored === base) return put();
  return app.notice(`Not saved last time, and others have changed it since: “${short(text, 80)}”`, {
    kind: 'warning', actions: [['Put it there', put], ['Discard', done]],
  });
}

function offerRow(page, { text, done }) {
  page.app.notice(`Not saved last time: “${short(text, 80)}”`, {
    kind: 'warning', actions: [['Add it as a row', () => { done(); page.acts.append(text); }], ['Discard', done]],
  });
}
