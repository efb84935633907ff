// An outline that each page folds for itself, and all edit together: what is below object 1, or below the object that
// the address names (#7).

import { NestError, connect } from '../../Clients/js/index.js';
import { Tree } from './tree.js';

const $ = (id) => document.getElementById(id);
/** The rows that the page asks for: those that it shows, and as many above and below. */
const ROWS = 150;
/** Steps of the path to what is shown. */
const PATH_MAX = 32;
const ROOT = 1;

const showFault = (error) => {
  $('message').textContent = error instanceof NestError ? error.message : String(error);
};

/** Shows why something was refused. While the connection is lost, it waits. */
async function attempt(change) {
  $('message').textContent = '';
  await Promise.resolve().then(change).catch(showFault);
}

const showState = (status) => {
  $('state').dataset.state = status;
  $('state').textContent = { disconnected: 'offline: connecting again' }[status] ?? status;
};

// The session owns what Undo takes back, also after the page is loaded again.
const SESSION = 'nest-session';
const nest = await connect({
  url: `${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/nest`, clientName: 'browser-outline',
  session: sessionStorage.getItem(SESSION) ?? undefined,
}).catch((error) => {
  showState('ended');
  showFault(error);
  throw error;
});
sessionStorage.setItem(SESSION, nest.session);
const items = await nest.entity('Item');

// Fold states are of this window. They are kept, so that the page looks the same after it is loaded again.
const FOLDS = 'nest-folds';
const folds = JSON.parse(sessionStorage.getItem(FOLDS) ?? '{}');
const under = () => (/^#\d{1,15}$/.test(location.hash) && Number(location.hash.slice(1))) || ROOT;
// An address may name an entry that was deleted.
if (under() !== ROOT) await nest.object(under()).catch(isGone);
const request = items.children(under()).properties('title', 'done', 'parent').window(0, ROWS);
const outline = await nest.outline(request, folds);

/** What one has zoomed into was deleted: shows everything. */
function isGone(error) {
  if (error.code !== 'NOT_FOUND') throw error;
  history.replaceState(null, '', `#${ROOT}`);
  $('message').textContent = 'That entry was deleted. This is everything.';
}

const keepFolds = () => sessionStorage.setItem(FOLDS, JSON.stringify(outline.folds));

// MARK: What the user does

const setExpanded = (row, isExpanded) => attempt(async () => {
  await outline.setExpanded(row, isExpanded);
  keepFolds();
});
const expand = (what) => attempt(async () => {
  if (await outline.change({ expand: what })) keepFolds();
});
$('unfold').addEventListener('click', () => expand('all'));
$('fold').addEventListener('click', () => expand('none'));
$('hide').addEventListener('change', () =>
  attempt(() => outline.change({ where: $('hide').checked ? 'done == NO' : null })));

/** The neighbours of a row in its list. They may be far outside of the rows that are here, so they are asked for. */
async function siblings({ id, parent }) {
  let near = items.of(parent, 'children').properties('title').around(id, 1, 1);
  if ($('hide').checked) near = near.where('done == NO');
  const { rows } = await nest.fetch(near);
  const index = rows.findIndex((row) => row.id === id);
  return { before: rows[index - 1], after: rows[index + 1] };
}

/** Where a row goes with Alt and an arrow: among its siblings, into the one before it, or behind its parent. */
async function place(key, row) {
  const { depth, parent: of } = row;
  if (key === 'ArrowLeft') return depth > 0 ? { of: (await nest.object(of)).values.parent, after: of } : null;
  const { before, after } = await siblings(row);
  if (key === 'ArrowUp' && before) return { of, before };
  if (key === 'ArrowDown' && after) return { of, after };
  return key === 'ArrowRight' && before ? { of: before } : null;
}

const tree = new Tree($('outline'), {
  setExpanded,
  zoom: ({ id }) => location.assign(`#${id}`),
  up: () => path.length > 1 && location.assign(`#${path.at(-2).id}`),
  done: (row) => attempt(() => nest.transaction(`${row.done ? 'reopen' : 'tick off'} “${row.title}”`,
    (tx) => tx.update(items, row, { done: !row.done }))),
  rename: (row, title) => attempt(() => nest.transaction(`rename “${title}”`, (tx) => tx.update(items, row, { title }))),
  remove: (row) => attempt(() => nest.transaction(`delete “${row.title}”`, (tx) => tx.delete(row))),
  move: (row, key) => attempt(async () => {
    const to = await place(key, row);
    if (!to) return;
    // So it stays in view.
    if (key === 'ArrowRight') await setExpanded(to.of, true);
    await nest.transaction(`move “${row.title}”`, (tx) => tx.move(items, row, to));
  }),
  // Nobody has asked for it: a refusal is no message, and the tree asks again.
  scroll: ({ around, middle }) => outline.scroll(around ? { around, before: ROWS / 2, after: ROWS / 2 - 1 }
    : { offset: Math.max(0, middle - ROWS / 2), limit: ROWS }),
});

for (const button of document.querySelectorAll('#tools button')) {
  // A click leaves the focus where it is, so that keys go on.
  button.addEventListener('mousedown', (event) => event.preventDefault());
  if (button.dataset.act) button.addEventListener('click', () => tree.act(button.dataset.act));
}

// Undo takes back what this window did last, and leaves what others have changed since.
const undo = () => attempt(() => nest.undo());
$('undo').addEventListener('click', undo);
addEventListener('keydown', (event) => {
  const isField = event.target.matches('input:not([type=checkbox])');
  if (isField || !(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== 'z') return;
  event.preventDefault();
  if (event.shiftKey) attempt(() => nest.redo());
  else undo();
});

$('add').addEventListener('submit', (event) => {
  event.preventDefault();
  const title = $('title').value.trim();
  if (title === '') return;
  $('title').value = '';
  const { state } = outline;
  const row = state.rows[state.indexOf(tree.current)];
  // Behind the current row, as its sibling.
  const where = row ? { of: row.parent, after: row } : { of: state.under };
  attempt(async () => {
    try {
      await nest.transaction(`add “${title}”`, (tx) => tx.insert(items, { title }, where));
    } catch (error) {
      // What one has typed is not lost.
      $('title').value ||= title;
      throw error;
    }
  });
});

// MARK: Zoom

/** From the root to the object above the outline: `{id, title}`. */
let path = [];

async function showPath(id) {
  const found = [];
  let at = id;
  while (at && found.length < PATH_MAX) {
    // A token may not reach what is above.
    const object = await nest.object(at).catch((error) => {
      if (found.length === 0) throw error;
      return null;
    });
    if (!object) break;
    found.unshift({ id: at, title: at === ROOT ? 'Home' : object.values.title });
    at = object.values.parent?.id;
  }
  // Meanwhile one may have gone elsewhere.
  if (id !== under()) return;
  if (at && found.length === PATH_MAX) found.unshift({ id: ROOT, title: 'Home' }, { id: at, title: '…' });
  path = found;
  $('path').replaceChildren(...path.map(({ id: each, title }, index) => {
    const step = document.createElement('li');
    const link = document.createElement('a');
    Object.assign(link, { href: `#${each}`, textContent: title || 'Untitled' });
    if (index === path.length - 1) link.setAttribute('aria-current', 'page');
    step.append(link);
    return step;
  }));
}

async function zoom(id) {
  try {
    await outline.zoom(id);
  } catch (error) {
    isGone(error);
    await outline.zoom(ROOT);
  }
}

addEventListener('hashchange', () => attempt(async () => {
  const from = outline.state.under;
  if (from === under()) return;
  const isOut = path.some(({ id }) => id === under());
  if (isOut) {
    // It ends at the row that one comes from.
    tree.arriving = from;
    const window = { around: from, before: ROWS / 2, after: ROWS / 2 - 1 };
    await outline.change({ under: under(), window }).catch(() => zoom(under()));
  } else await zoom(under());
  await showPath(under());
}));

// MARK: What the page shows

function show(change) {
  const { state, status, error } = outline;
  showState(status);
  if (error?.code === 'NOT_FOUND' && state.under !== ROOT) {
    // It was deleted while there was no connection.
    location.replace(`#${ROOT}`);
    location.reload();
  } else if (error) showFault(error);
  const gone = (change?.diff?.deletedRows ?? []).filter(({ reason }) => reason !== 'outOfWindow');
  tree.show(state, change?.runs ?? null, change?.type === 'snapshot' ? null : new Set(gone.map(({ id }) => id)));
  $('empty').hidden = state.revision === 0 || state.total > 0;
  // With what one has zoomed into, everything below it goes.
  if (gone.length > 0 && state.total === 0 && state.under !== ROOT) attempt(leaveIfGone);
  document.body.dataset.revision = outline.revision;
}

async function leaveIfGone() {
  try {
    await nest.object(outline.state.under);
  } catch (error) {
    isGone(error);
    await zoom(ROOT);
    await showPath(ROOT);
  }
}

outline.subscribe(show);
show(null);
showPath(under()).catch(showFault);

(await nest.undoStates()).subscribe(({ undo: entry }) => {
  $('undo').disabled = !entry;
  $('undo').textContent = entry ? `Undo: ${entry.name}` : 'Undo';
  $('undo').title = entry?.name ?? '';
});
