// The outline: what is below an object, as rows that many write in together.

import { make, style } from '../shell/dom.js';
import { keysFor } from './keys.js';
import { Outline } from './outline.js';
import { sourcesOf } from './source.js';
import { starts } from './starts.js';

/** Opens the outline below the object that the address names: `/outline/ID`, or `/outline`. */
export async function open(main, app, rest) {
  await style(import.meta.url, './outline.css');
  const sources = await sourcesOf(app.nest, app.root);
  if (sources.length === 0) {
    main.append(make('div', { className: 'empty' },
      make('p', {}, 'Nothing in this store is an outline.'),
      make('p', {}, 'An outline needs an entity with an ordered relationship to itself, and a text that names its '
        + 'objects.'),
      make('p', {}, make('a', { href: '/explore' }, 'Explore what is here'))));
    return { keys: [], go() {}, close() {} };
  }
  let outline = null;
  let turn = 0;
  const show = async ([name]) => {
    const mine = ++turn;
    const id = /^\d{1,15}$/.test(name ?? '') ? Number(name) : null;
    if (name !== undefined && !id) app.name('/outline');
    const source = await sourceFor(app, sources, id);
    if (mine !== turn) return;
    const under = id ?? source.home;
    if (under === null) {
      outline?.close();
      outline = null;
      main.replaceChildren(await starts(app, source));
    } else if (outline?.source === source && !outline.isEnded) await outline.go(under);
    else {
      outline?.close();
      main.replaceChildren();
      const opened = await Outline.open(main, app, source, under);
      if (mine !== turn) return opened.close();
      outline = opened;
      opened.ended = () => {
        opened.close();
        outline = null;
        app.attempt(() => show([String(under)]));
      };
    }
    return undefined;
  };
  await show(rest);
  return {
    keys: keysFor(app.can('write')),
    go: (next) => app.attempt(() => show(next)),
    close: () => {
      turn += 1;
      outline?.close();
    },
  };
}

/** The way to outline an object: that of its entity. */
async function sourceFor(app, sources, id) {
  if (id === null || sources.length === 1) return sources[0];
  const object = await app.nest.object(id).catch(() => null);
  return sources.find(({ name }) => name === object?.entity) ?? sources[0];
}
