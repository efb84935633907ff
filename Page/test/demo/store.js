// The demo store: a community garden, as it looks after a week of use. Pictures and tests of the page show it.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { connect } from '../../../Clients/js/node.js';

/** The model of the demo store, for `nestd --model`. */
export const model = fileURLToPath(new URL('model.json', import.meta.url));

const garden = fileURLToPath(new URL('garden.md', import.meta.url));

const GARDENERS = [
  ['Anna Lindqvist', '2019-03-02', '+46 70 174 06 35'], ['Bruno Costa', '2020-04-11', null],
  ['Çiğdem Yılmaz', '2021-05-29', null], ['Dieter Vogel', '2021-09-04', null],
  ['Eilidh MacLeod', '2023-03-18', '+44 7700 900461'],
];
const BEDS = [
  ['Bed 1', 2.88, true, [0, 1]], ['Bed 2', 2.88, true, [2]], ['Bed 3', 4.5, false, [1, 3]], ['Herb spiral', 1.77, true, [4, 0]],
];
/** By bed: plant, family, day of sowing, rows, cost, harvested. */
const PLANTINGS = [
  [['Broad bean', 'Legumes', '2026-02-28', 3, '4.80', true], ['Spinach', 'Amaranths', '2026-03-07', 4, '2.95', true],
    ['Tomato ‘Matina’', 'Nightshades', '2026-05-16', 2, '11.20', false]],
  [['Carrot ‘Nantes’', 'Umbellifers', '2026-04-11', 5, '3.10', false], ['Onion', 'Alliums', '2026-04-04', 6, '5.60', false],
    ['Marigold', 'Asters', null, 1, '2.40', false]],
  [['Rhubarb', 'Knotweeds', '2024-10-05', 1, '8.90', true], ['Pumpkin ‘Hokkaido’', 'Gourds', '2026-05-23', 1, '3.75', false],
    ['Lettuce', 'Asters', '2026-04-18', 3, '2.10', true], ['Pea', 'Legumes', '2026-03-21', 2, '3.30', true]],
  [['Thyme', 'Mints', '2023-05-06', 1, '4.20', true], ['Parsley', 'Umbellifers', '2026-04-25', 2, '2.60', false]],
];

/** Fills an empty store that serves `model`. `server`: as of the tests (Clients/js/test/live/nestd.js). */
export async function fill(server) {
  await server.nestc(['--user', 'Anna', 'import', garden]);
  const as = (user) => connect({ url: `nest://${server.address}`, user });
  const anna = await as('Anna');
  const [gardeners, beds, plantings] = await Promise.all(['Gardener', 'Bed', 'Planting'].map((name) => anna.entity(name)));
  await anna.transaction('write down beds and people', (tx) => {
    const people = GARDENERS.map(([name, joined, phone]) =>
      tx.insert(gardeners, { name, joined: new Date(joined), phone }));
    BEDS.forEach(([name, squareMetres, sunny, who], index) => {
      const bed = tx.insert(beds, { name, squareMetres, sunny });
      tx.setRelated(beds, bed, 'gardeners', who.map((number) => people[number]));
      for (const [plant, family, sown, rows, cost, harvested] of PLANTINGS[index]) {
        tx.insert(plantings, { plant, family, sown: sown && new Date(sown), rows, cost, harvested, bed });
      }
    });
  });
  anna.close();
  await work(await as('Bruno'), await as('Çiğdem'));
}

/** A few changes, so that there is a history. */
async function work(bruno, cigdem) {
  const items = await bruno.entity('Item');
  const find = async (title) => {
    const { rows } = await bruno.fetch(items.where`title == ${title}`.properties('title'));
    return rows[0].id;
  };
  const boards = await find('Ask Bruno about the larch boards');
  await bruno.transaction('answer about the boards', (tx) =>
    tx.update(items, boards, { note: 'Six boards, 14 € each. I can bring them on Friday.', done: true }));
  const soup = await find('Soup');
  await cigdem.transaction('add “Onions”', (tx) => tx.insert(items, { title: 'Onions' }, { of: soup }));
  const music = await find('Music: ask Çiğdem #music');
  await cigdem.transaction('edit “Music”', (tx) => tx.update(items, music, { title: 'Music: Çiğdem asks the band #music' }));
  await cigdem.transaction('add “Bowls and spoons”', (tx) => tx.insert(items, { title: 'Bowls and spoons' }, { of: soup, first: true }));
  await cigdem.undo();
  for (const nest of [bruno, cigdem]) nest.close();
}
