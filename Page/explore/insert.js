// A new object: a dialog with a field for each property, which keeps what was typed when the server refuses it.

import { ask } from '../shell/dialog.js';
import { button, isField, make, newID } from '../shell/dom.js';
import { wordsOf } from '../shell/notice.js';
import { faultWords } from './fields.js';
import { findObject, nameOf } from './find.js';
import { isHidden, withSubentities } from './paths.js';
import { cellText, fieldText, readValue } from './values.js';

/** The field of an attribute: `read()` gives undefined for what is left to the server's default. */
function attributeInput(property) {
  const { type, isOptional } = property;
  const id = newID('new');
  const initial = property.default === null || property.default === undefined ? '' : fieldText(property.default);
  const hint = property.defaultsToNow ? 'now' : initial !== '' ? cellText(property.default) : isOptional ? 'no value'
    : '';
  let control;
  if (type === 'boolean') {
    control = make('select', { id }, [['', hint || 'no value'], ['true', 'yes'],
      ['false', 'no']].map(([value, text]) => make('option', { value }, text)));
  } else if (type === 'string' || type === 'uri') control = make('textarea', { id, rows: 1, placeholder: hint });
  else control = make('input',
    { id, type: 'text', placeholder: type === 'data' ? 'base64' : hint, autocomplete: 'off', spellcheck: false });
  const isRequired = !isOptional && !property.defaultsToNow && initial === '' && type !== 'boolean';
  return {
    control, isRequired,
    read() {
      if (control.value === '') return isRequired && type === 'string' ? '' : isRequired ? readValue(property, '')
        : undefined;
      return type === 'boolean' ? control.value === 'true' : readValue(property, control.value);
    },
  };
}

/** The field of a to-one relationship. */
function relationshipInput(app, model, property, preset) {
  const destination = model.entity(property.destination);
  let chosen = preset ?? null;
  const text = make('span', { className: 'text' }, chosen ? `#${chosen}` : 'none');
  const choose = async () => {
    const row = await findObject(app, await app.nest.entity(destination.name), { title: `${property.name}: choose` });
    if (!row) return;
    chosen = row.id;
    text.textContent = nameOf(destination, row);
  };
  const control = make('div', { className: 'control' }, text,
    button('Choose…', () => app.attempt(choose), { 'aria-label': `Choose ${property.name}` }));
  return { control, isRequired: !property.isOptional, read: () => chosen ?? undefined };
}

/**
 * Asks for the values of a new object, and inserts it: lists show it at once. `given`: null, or
 * `{ relationship, owner }`, a to-many relationship that it goes to. `made(id)`: it has its id, perhaps before the
 * server has the object. `refused(id)`: it is not there; the dialog comes back with what was typed, if the page
 * `isOpen()`. Resolves when the dialog is left.
 */
export async function insertObject(app, writes, model, entityName, given, { made, refused, isOpen }) {
  const preset = given ?? inRoot(app, model);
  const kinds = withSubentities(model, model.entity(entityName)).filter(({ isAbstract }) => !isAbstract);
  const fault = make('p', { className: 'fault', role: 'alert', hidden: true });
  const fields = make('div', { className: 'values' });
  let inputs = new Map();
  let description = kinds[0];
  const build = () => {
    inputs = new Map();
    const lines = [];
    for (const property of [...description.attributes,
      ...description.relationships.filter((one) => !one.isToMany && !isHidden(one))]) {
      const isTo = 'destination' in property;
      const isPreset = isTo && preset && preset.relationship.inverse === property.number;
      const input = isTo ? relationshipInput(app, model, property, isPreset ? preset.owner : null)
        : attributeInput(property);
      const words = make('p', { className: 'fault', role: 'status', hidden: true });
      inputs.set(property.name, { ...input, property, words });
      lines.push(make('div', { className: 'field' },
        make(isTo ? 'div' : 'label', { for: isTo ? undefined : input.control.id, className: 'name' },
        make('span', {}, property.name), make('span', { className: 'soft type' },
          isTo ? `→ ${model.entity(property.destination).name}` : property.type,
          input.isRequired ? ' · required' : '')), input.control, words));
    }
    fields.replaceChildren(...lines);
  };
  build();
  const kind = kinds.length > 1 ? make('label', {}, 'Entity', make('select', { onchange: ({ target }) => {
    description = model.entity(target.value);
    build();
  } }, kinds.map(({ name }) => make('option', { value: name }, name)))) : null;
  /** The write that was refused, which is corrected. */
  let last = null;
  let isSaving = false;
  const save = async (dialog) => {
    if (isSaving) return;
    isSaving = true;
    try {
      await write(dialog);
    } finally {
      isSaving = false;
    }
  };
  const write = async (dialog) => {
    const values = {};
    fault.hidden = true;
    let isRight = true;
    for (const [name, { read, words }] of inputs) {
      words.hidden = true;
      try {
        values[name] = read();
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        isRight = false;
        words.textContent = error.message;
        words.hidden = false;
      }
    }
    if (!isRight) return;
    const entity = await app.nest.entity(description.name);
    const owner = preset && inverseIsMany(model, preset)
      ? await app.nest.entity(model.entity(destinationOf(model, preset)).name) : null;
    const insertion = writes.make(`insert ${description.name}`, (tx) => {
      const object = tx.insert(entity, values);
      if (owner) tx.relate(owner, preset.owner, preset.relationship.name, object);
    }, { last, failed: (error, each) => failed(error, each) });
    dialog.close();
    report(insertion);
  };
  /** Without ids in stock, the object gets its id with the write. */
  const report = async (insertion) => {
    if (insertion.ids[0] === null) await insertion.done.catch(() => {});
    const [id = null] = insertion.ids;
    if (id !== null && insertion.error === null) made(id);
  };
  const failed = (error, insertion) => {
    const [id = null] = insertion.ids;
    if (id !== null) refused(id);
    if (insertion.state === 'parked' || !isOpen()) return writes.tell(error, insertion);
    last = insertion;
    showFaults(error);
    const { activeElement } = document;
    if (!isField(activeElement) && !activeElement?.closest('dialog, [role=menu]')) return show();
    // The keyboard is in use elsewhere, and stays there.
    return app.notice(`New ${entityName} was refused: ${wordsOf(error)}`,
      { kind: 'fault', actions: [['Correct it', show]] });
  };
  const showFaults = (error) => {
    const named = new Set();
    for (const { property, words } of inputs.values()) {
      const own = error.faults?.filter((one) => one.property === property.number) ?? [];
      for (const one of own) named.add(one);
      words.hidden = own.length === 0;
      words.textContent = own.length > 0 ? faultWords({ faults: own }, property) : '';
    }
    const others = error.faults?.filter((one) => !named.has(one)) ?? [];
    fault.hidden = named.size > 0 && others.length === 0;
    fault.textContent = others.length > 0 ? others.map(({ message }) => message).join('; ') : wordsOf(error);
  };
  const show = () => ask({
    title: `New ${entityName}`, body: [kind, fields, fault], actions: [['', 'Cancel'], ['ok', 'Insert', 'primary']],
    ready(dialog) {
      // The dialog stays open for what the page itself finds wrong.
      dialog.querySelector('form').addEventListener('submit', (event) => {
        event.preventDefault();
        app.attempt(() => save(dialog));
      });
      dialog.querySelector('.values :is(input, textarea, select)')?.focus();
    },
  });
  await show();
}

/** Whether the relationship's other end is to-many: then the owner is given the object. */
function inverseIsMany(model, { relationship }) {
  const inverse = model.entity(relationship.destination).find(relationship.inverse);
  return !inverse || inverse.isToMany || isHidden(inverse);
}

/** The entity that has the relationship. */
const destinationOf = (model, { relationship }) =>
  model.entities.find((entity) => entity.relationships.includes(relationship)).number;

/** A token that is confined to an object inserts below it. */
function inRoot(app, model) {
  const { confinement } = app.nest.server;
  if (!confinement) return null;
  return { relationship: model.entity(confinement.entity).find(confinement.relationship), owner: confinement.root };
}
