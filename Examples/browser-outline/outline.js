// An outline that each page folds for itself, and all edit together: what is below object 1, or below the object that
// the address names (#7).

import { NestError, connect } from '../../Clients/js/index.js';
import { Tree } from './tree.js';

const $ = (id) => document.getElementById(id);
/** The rows that the page asks for: those that it shows, and as many above and below. */
const ROWS = 150;
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
let folds = JSON.parse(sessionStorage.getItem(FOLDS) ?? '{"expand":"none","except":[]}');
const under = () => Number(location.hash.slice(1)) || ROOT;
// An address may name an entry that was deleted.
if (under() !== ROOT) await nest.object(under()).catch(isGone);
const request = items.children(under()).properties('title', 'done').window(0, ROWS);
const outline = await nest.outline(request, folds);

/** What one has zoomed into was deleted: shows everything. */
function isGone(error) {
  if (error.code !== 'NOT_FOUND') throw error;
  history.replaceState(null, '', `#${ROOT}`);
  $('message').textContent = 'That entry was deleted. This is everything.';
}

const keepFolds = (expand = folds.expand) => {
  folds = { expand, except: outline.except };
  sessionStorage.setItem(FOLDS, JSON.stringify(folds));
};

// MARK: What the user does

const setExpanded = (row, isExpanded) => attempt(async () => {
  await outline.setExpanded(row, isExpanded);
  keepFolds();
});
const expand = (what) => attempt(async () => {
  if (await outline.change({ expand: what })) keepFolds(what);
});
$('unfold').addEventListener('click', () => expand('all'));
$('fold').addEventListener('click', () => expand('none'));
$('hide').addEventListener('change', () =>
  attempt(() => outline.change({ where: $('hide').checked ? 'done == NO' : null })));

/** The neighbours of a row in its list, as far as they are shown. */
function siblings({ rows }, index) {
  const { depth } = rows[index];
  let before = index - 1;
  while (before >= 0 && rows[before].depth > depth) before -= 1;
  const after = rows.slice(index + 1).find((row) => row.depth <= depth);
  return {
    before: rows[before]?.depth === depth ? rows[before] : null, after: after?.depth === depth ? after : null,
  };
}

/** Where a row goes with Alt and an arrow: among its siblings, into the one before it, or behind its parent. */
function place(key, state, index) {
  const { before, after } = siblings(state, index);
  const parent = state.rows[state.parentIndex(index)];
  const of = parent ?? state.under;
  if (key === 'ArrowUp' && before) return { of, before };
  if (key === 'ArrowDown' && after) return { of, after };
  if (key === 'ArrowRight' && before) return { of: before };
  if (key === 'ArrowLeft' && parent) {
    return { of: state.rows[state.parentIndex(state.indexOf(parent))] ?? state.under, after: parent };
  }
  return null;
}

const tree = new Tree($('outline'), {
  setExpanded,
  zoom: ({ id }) => location.assign(`#${id}`),
  up: () => path.length > 1 && location.assign(`#${path.at(-2).id}`),
  done: (row) => attempt(() => nest.transaction(`${row.done ? 'reopen' : 'tick off'} “${row.title}”`,
    (tx) => tx.update(items, row, { done: !row.done }))),
  rename: (row, title) => attempt(() => nest.transaction(`rename “${title}”`, (tx) => tx.update(items, row, { title }))),
  remove: (row) => attempt(() => nest.transaction(`delete “${row.title}”`, (tx) => tx.delete(row))),
  move: (row, key) => {
    const to = place(key, outline.state, outline.state.indexOf(row));
    if (!to) return;
    attempt(async () => {
      // So it stays in view.
      if (key === 'ArrowRight') await setExpanded(to.of, true);
      await nest.transaction(`move “${row.title}”`, (tx) => tx.move(items, row, to));
    });
  },
  scroll: (window) => attempt(() => outline.scroll({ limit: ROWS, ...window })),
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
  const index = state.indexOf(tree.current);
  // Behind the current row, as its sibling.
  const where = index < 0 ? { of: state.under }
    : { of: state.rows[state.parentIndex(index)] ?? state.under, after: state.rows[index] };
  attempt(() => nest.transaction(`add “${title}”`, (tx) => tx.insert(items, { title }, where)));
});

// MARK: Zoom

/** From the root to the object above the outline: `{id, title}`. */
let path = [];

async function showPath(id) {
  const found = [];
  for (let at = id; at;) {
    const { values } = await nest.object(at);
    found.unshift({ id: at, title: at === ROOT ? 'Home' : values.title });
    at = values.parent?.id;
  }
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
  await zoom(under());
  // Zooming out ends at the row that one comes from.
  tree.current = path.some(({ id }) => id === under()) ? from : null;
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
  tree.show(state, change?.runs ?? null, new Set(gone.map(({ id }) => id)));
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
});
