// Things to do, in a page: add them, tick them off, undo. Each page shows at once what others do.

import { connect } from '/client/index.js';

const $ = (id) => document.querySelector(id);
const nest = await connect();
const toDos = await nest.entity('ToDo');
const list = nest.results(toDos.sorted('createdAt').properties('name', 'done'));

/** Makes a change, and shows why if the server refuses it. */
const attempt = (change) => change.then(() => '', (error) => error.message).then((text) => {
  $('#fault').textContent = text;
});

$('#add').addEventListener('submit', (event) => {
  event.preventDefault();
  const name = $('#name').value;
  event.target.reset();
  attempt(nest.transaction('add', (tx) => tx.insert(toDos, { name })));
});
$('#undo').addEventListener('click', () => attempt(nest.undo()));

list.subscribe(() => {
  $('#list').replaceChildren(...list.state.rows.map((row) => {
    const [line, label, box] = ['li', 'label', 'input'].map((name) => document.createElement(name));
    box.type = 'checkbox';
    box.checked = row.done;
    box.addEventListener('change', () => {
      attempt(nest.transaction('tick off', (tx) => tx.update(toDos, row, { done: box.checked })));
    });
    label.append(box, row.name);
    line.append(label);
    return line;
  }));
});
