// What a deletion would take with it, before it happens. The protocol has no dry run of a deletion: the objects that
// the delete rules reach are found by reads, so that what others do meanwhile is not in the numbers.

import { ask } from '../shell/dialog.js';
import { make } from '../shell/dom.js';
import { count, numberText } from '../shell/format.js';
import { isHidden, isRelationship } from './paths.js';

/** Objects that are looked at; beyond, the numbers are "at least". */
const REACHED_MAX = 5_000;
/** Ids in one predicate. */
const IDS_MAX = 500;

const chunks = (ids) => Array.from({ length: Math.ceil(ids.length / IDS_MAX) },
  (_, index) => ids.slice(index * IDS_MAX, (index + 1) * IDS_MAX));

/**
 * What a deletion of an object reaches: `{ deleted, kept, denied, isWhole }`. `deleted`: how many objects of each
 * entity go besides it; `kept`: how many stay and lose a relationship, by `Entity.relationship`; `denied`:
 * relationships whose rule refuses, with their numbers. `isWhole`: whether all was looked at.
 */
export async function reach(nest, model, entityName, id) {
  const deleted = new Map();
  const kept = new Map();
  const denied = new Map();
  const seen = new Set([id]);
  let isWhole = true;
  let frontier = [{ entity: entityName, id }];
  const add = (map, name, by) => map.set(name, (map.get(name) ?? 0) + by);
  while (frontier.length > 0 && isWhole) {
    const next = [];
    for (const [name, ids] of grouped(frontier)) {
      for (const relationship of model.entity(name).relationships) {
        for (const part of chunks(ids)) {
          const { rule, request } = await related(nest, model, name, relationship, part);
          if (!request) continue;
          if (rule !== 'cascade') {
            const found = await nest.count(request);
            if (found > 0) add(rule === 'deny' ? denied : kept, `${name}.${relationship.name}`, found);
            continue;
          }
          const state = await nest.fetch(request.properties('@entity').window(0, REACHED_MAX + 1 - seen.size));
          if (state.total > state.count) isWhole = false;
          for (const row of state.rows) {
            if (seen.has(row.id)) continue;
            seen.add(row.id);
            const own = entityOf(model, row.get('@entity'), relationship.destination);
            add(deleted, own.name, 1);
            next.push({ entity: own.name, id: row.id });
          }
          if (seen.size > REACHED_MAX) isWhole = false;
        }
      }
    }
    frontier = next;
  }
  return { deleted, kept, denied, isWhole };
}

const grouped = (objects) => {
  const groups = new Map();
  for (const { entity, id } of objects) groups.set(entity, [...(groups.get(entity) ?? []), id]);
  return groups;
};

/** The entity of a value of `@entity`. */
export const entityOf = (model, value, other) => model.find(typeof value === 'object' && value ? value.id : value)
  ?? model.entity(other);

/** The objects that a relationship of these objects leads to, and what its rule does. */
async function related(nest, model, name, relationship, ids) {
  const rule = relationship.deleteRule;
  const destination = model.entity(relationship.destination);
  const inverse = destination.find(relationship.inverse);
  // To-one relationships that are only left lead to objects that lose nothing people see.
  if (!relationship.isToMany && rule === 'nullify'
    && (!inverse || inverse.isToMany || isHidden(inverse))) return { rule, request: null };
  if (relationship.isToMany && rule === 'nullify' && isHidden(relationship)) return { rule, request: null };
  const base = await nest.entity(destination.name);
  if (ids.length === 1 && relationship.isToMany) return { rule,
    request: (await nest.entity(name)).of(ids[0], relationship.name) };
  if (!inverse || !isRelationship(inverse)) return { rule, request: null };
  const list = `{${ids.join(', ')}}`;
  return { rule, request: base.where(`${inverse.isToMany ? 'ANY ' : ''}${inverse.name} IN ${list}`) };
}

/** Asks before a deletion. Resolves with whether it is wanted. */
export async function askToDelete(app, model, entityName, id, name) {
  const words = make('div', { className: 'reach', role: 'status' },
    make('p', { className: 'soft' }, 'Looking what else goes…'));
  const open = ask({
    title: `Delete ${name}?`, body: [words], actions: [['', 'Cancel'], ['delete', 'Delete', 'danger']],
    ready: (dialog) => dialog.querySelector('button').focus(),
  });
  reach(app.nest, model, entityName, id).then((found) => words.replaceChildren(...wordsOfReach(found)),
    (error) => words.replaceChildren(make('p', { className: 'soft' },
      `What else goes is not known: ${error.message}`)));
  return (await open) === 'delete';
}

function wordsOfReach({ deleted, kept, denied, isWhole }) {
  const total = [...deleted.values()].reduce((sum, each) => sum + each, 0);
  const list = (map, each) => make('ul', {}, [...map].map(([name, number]) => make('li', {}, each(name, number))));
  const words = [];
  if (denied.size > 0) {
    words.push(make('p', { className: 'fault' },
      'The server will refuse: the model does not allow it as long as these are there.'),
      list(denied, (name, number) => `${numberText(number)} in ${name}`));
    return words;
  }
  if (total > 0) {
    words.push(make('p', {},
      `${isWhole ? '' : 'At least '}${count(total, 'other object')} ${total === 1 ? 'goes' : 'go'} with it:`),
      list(deleted, (name, number) => `${numberText(number)} ${name}`));
  }
  if (kept.size > 0) {
    words.push(make('p', {}, 'These stay, without it:'),
      list(kept, (name, number) => `${numberText(number)} in ${name}`));
  }
  if (words.length === 0) words.push(make('p', {}, 'Nothing else goes with it.'));
  return [...words, make('p', { className: 'soft' }, 'Undo brings it all back.')];
}
