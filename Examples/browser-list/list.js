// A list that everybody edits at the same time: the children of object 1, with what each person did last.

import { NestError, connect } from '../../Clients/js/index.js';
import { Rows, make, personChip } from './rows.js';

const $ = (id) => document.getElementById(id);
const PAGE = 100;

// Who you are. A session has an undo stack of its own, so each window is a person; the name is kept for the next one.
const query = new URLSearchParams(location.search);
const kept = (store, name, make) => store.getItem(name) ?? (store.setItem(name, make()), store.getItem(name));
const session = kept(sessionStorage, 'nest-session',
  () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join(''));
const user = query.get('as') ?? localStorage.getItem('nest-name') ?? '';
$('me').value = user;
$('me').addEventListener('change', () => {
  localStorage.setItem('nest-name', $('me').value.trim());
  location.assign(location.pathname);
});

const nest = await connect({
  url: `${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/nest`, session, user,
  clientName: 'browser-list', token: query.get('token') ?? undefined,
});

const words = { live: 'live', connecting: 'connecting', disconnected: 'offline: connecting again', ended: 'ended' };
const showState = (state) => {
  $('state').dataset.state = state;
  $('state').textContent = words[state] ?? state;
};

/** Shows why a change was refused. While the connection is lost, a change waits and is sent once. */
async function attempt(change) {
  try {
    $('message').textContent = '';
    await change();
  } catch (error) {
    $('message').textContent = error instanceof NestError ? error.message : String(error);
  }
}

const items = await nest.entity('Item');
let shown = PAGE;
const request = () => items.children(1).properties('title', 'done').window(0, shown);
const list = nest.results(request());

const rows = new Rows($('list'), {
  done: (row, done) => attempt(() => nest.transaction(`${done ? 'tick off' : 'reopen'} “${row.title}”`,
    (tx) => tx.update(items, row, { done }))),
  edit: (row, title) => attempt(() => nest.transaction(`edit “${title}”`, (tx) => tx.update(items, row, { title }))),
  remove: (row) => attempt(() => nest.transaction(`delete “${row.title}”`, (tx) => tx.delete(row))),
  move: (row, steps) => {
    const { rows: all } = list.state;
    const at = all.findIndex(({ id }) => id === row.id);
    const other = all[at + steps];
    if (other === undefined) return undefined;
    return attempt(() => nest.transaction(`move “${row.title}”`,
      (tx) => tx.move(items, row, { of: 1, [steps < 0 ? 'before' : 'after']: other })));
  },
});

$('add').addEventListener('submit', (event) => {
  event.preventDefault();
  const title = $('title').value.trim();
  if (title === '') return;
  $('title').value = '';
  attempt(() => nest.transaction(`add “${title}”`, (tx) => tx.insert(items, { title }, { of: 1 })));
});

$('more').addEventListener('click', () => {
  shown += PAGE;
  attempt(() => list.change(request()));
});

// Undo takes back what this session did last, and leaves what others have changed since.
$('undo').addEventListener('click', () => attempt(() => nest.undo()));
$('redo').addEventListener('click', () => attempt(() => nest.redo()));
const label = (button, verb, entry) => {
  button.disabled = !entry;
  button.textContent = entry ? `${verb}: ${entry.name}` : verb;
  button.title = entry ? entry.name : '';
};
nest.undoStates().subscribe(({ undo, redo }) => {
  label($('undo'), 'Undo', undo);
  label($('redo'), 'Redo', redo);
});

const person = (name, isMine) => (isMine ? 'You' : name || 'Someone');

/** Who wrote what the diff contains: the authors of its revisions, for the rows that it changed. */
function authorsOf({ diff, authors, own, state }) {
  const found = new Map();
  if (!diff || !authors?.length) return found;
  const { revision, user: name } = authors.at(-1);
  const who = person(name, own?.includes(revision));
  const changed = [...diff.insertedRows.map(({ id }) => id), ...diff.updates.map(({ at }) => state.sections[at[0]].at(at[1]).id),
    ...diff.moves.map(({ to }) => state.sections[to[0]].at(to[1]).id)];
  for (const id of changed) found.set(id, who);
  return found;
}

function show(change) {
  const { state } = list;
  rows.show(state.rows, authorsOf(change));
  const done = state.rows.filter((row) => row.done).length;
  $('count').textContent = state.total === 0 ? '' : `${state.count - done} to do, ${done} done`;
  $('empty').hidden = state.total > 0;
  $('more').hidden = state.count >= state.total;
  $('more').textContent = `Show ${Math.min(PAGE, state.total - state.count)} of ${state.total - state.count} more`;
}

const sinceThen = (microseconds) => {
  const seconds = Math.max(0, Date.now() - microseconds / 1000) / 1000;
  const [size, unit] = [[86400, 'd'], [3600, 'h'], [60, 'min']].find(([least]) => seconds >= least) ?? [1, ''];
  return unit ? `${Math.floor(seconds / size)} ${unit}` : 'now';
};

async function showActivity() {
  const entries = await nest.history({ limit: 8, onlyMine: false });
  $('activity').replaceChildren(...entries.map(({ revision, time, user: name, isMine, name: what, kind }) => make('li', {},
    personChip(person(name, isMine)),
    make('span', { className: 'what', textContent: kind === 'write' ? what : `${kind}: ${what}` }),
    make('time', { textContent: sinceThen(Number(time)), title: `revision ${revision}` }))));
}

let isStale = false;
async function refreshActivity() {
  if (isStale) return;
  isStale = true;
  await new Promise((resolve) => setTimeout(resolve, 150));
  isStale = false;
  await attempt(showActivity);
}
setInterval(refreshActivity, 60_000);

for await (const change of list) {
  showState(list.status);
  if (change.state) show(change);
  document.body.dataset.revision = list.revision;
  if (change.type !== 'disconnected') refreshActivity();
}
showState('ended');
