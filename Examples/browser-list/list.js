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
// A token comes in the fragment, which browsers do not send, and leaves the address at once.
const given = new URLSearchParams(location.hash.slice(1)).get('token');
if (given) {
  sessionStorage.setItem('nest-token', given);
  history.replaceState(null, '', location.pathname + location.search);
}
const user = query.get('as') ?? localStorage.getItem('nest-name') ?? '';
$('me').value = user;
$('me').addEventListener('change', () => {
  localStorage.setItem('nest-name', $('me').value.trim());
  location.assign(location.pathname);
});

const nest = await connect({
  url: `${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/nest`, session, user,
  clientName: 'browser-list', token: sessionStorage.getItem('nest-token'),
});

const words = { live: 'live', connecting: 'connecting', disconnected: 'offline: connecting again', ended: 'ended' };
const showState = (state) => {
  $('state').dataset.state = state;
  $('state').textContent = words[state] ?? state;
};

const showFault = (error) => {
  $('message').textContent = error instanceof NestError ? error.message : String(error);
};

/** Shows why a change was refused. While the connection is lost, a change waits and is sent once. */
async function attempt(change) {
  $('message').textContent = '';
  await Promise.resolve().then(change).catch(showFault);
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
const undoStates = await nest.undoStates();
undoStates.subscribe(({ undo, redo }) => {
  label($('undo'), 'Undo', undo);
  label($('redo'), 'Redo', redo);
});

const person = (name, isMine) => (isMine ? 'You' : name || 'Someone');

/** Who wrote what a diff contains, for each entry that it changed. A diff may have the writes of several people. */
function authorsOf({ diff, authors = [], own = [], state }) {
  const found = new Map();
  if (!diff || authors.length === 0) return found;
  const names = [...new Set(authors.map(({ revision, user: name }) => person(name, own.includes(revision))))];
  const who = names.length > 2 ? `${names.length} people` : names.join(', ');
  const rowAt = ([section, row]) => state.sections[section].at(row);
  for (const { id } of diff.insertedRows) found.set(id, who);
  for (const { at } of diff.updates) found.set(rowAt(at).id, who);
  for (const { to } of diff.moves) found.set(rowAt(to).id, who);
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
  $('activity').replaceChildren(...entries.map((entry) => make('li', {},
    personChip(person(entry.user, entry.isMine)),
    make('span', { className: 'what', textContent: `${entry.kind === 'write' ? '' : `${entry.kind}: `}${entry.name}` }),
    make('time', { textContent: sinceThen(Number(entry.time)), title: `revision ${entry.revision}` }))));
}

let isStale = false;
async function refreshActivity() {
  if (isStale) return;
  isStale = true;
  await new Promise((resolve) => setTimeout(resolve, 150));
  isStale = false;
  await showActivity().catch(showFault);
}
setInterval(refreshActivity, 60_000);

for await (const change of list) {
  showState(list.status);
  if (change.state) show(change);
  document.body.dataset.revision = list.revision;
  if (change.type !== 'disconnected') refreshActivity();
}
showState('ended');
