// The accessibility of a page: the audit of axe-core, and the tree that assistive technology reads.

import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './stage.js';

const directory = join(root, '.build/axe');
const file = existsSync(directory) && readdirSync(directory).find((name) => /^axe-[\d.]+\.min\.js$/.test(name));

/** Why there is no audit; false if there is one. */
export const noAxe = file ? false : 'axe-core is missing: make web-tools';

const source = file ? readFileSync(join(directory, file), 'utf8') : '';

/**
 * What axe-core finds wrong in what a page shows now, for people: a line for each rule and element. It is evaluated by
 * the debugger, which the page's content security policy does not concern.
 */
export async function audit(page) {
  if (!await page.evaluate(() => Boolean(window.axe))) {
    await page.send('Runtime.evaluate', { expression: `${source};0` });
  }
  return page.evaluate(async () => {
    // Animations end first: a row that fades in has less contrast than one that stays.
    const ending = document.getAnimations().filter(({ effect }) => effect.getComputedTiming().endTime !== Infinity);
    await Promise.allSettled(ending.map((animation) => animation.finished));
    const { violations } = await window.axe.run(document, {
      runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
      resultTypes: ['violations'],
    });
    return violations.flatMap(({ id, help, nodes }) => nodes.map(({ target, html, failureSummary }) =>
      `${id}: ${help}\n  ${target.join(' ')}: ${html.slice(0, 200)}\n  ${failureSummary.split('\n').slice(1).join(' ').trim()}`));
  });
}

/** The nodes of the accessibility tree that are not ignored: `{ role, name, …properties }`, in document order. */
export async function accessibility(page) {
  const { nodes } = await page.send('Accessibility.getFullAXTree');
  return nodes.filter(({ ignored }) => !ignored).map(({ role, name, properties = [], backendDOMNodeId }) => ({
    role: role?.value, name: name?.value ?? '', node: backendDOMNodeId,
    ...Object.fromEntries(properties.map((property) => [property.name, property.value.value])),
  }));
}

/** Kinds that have a name, or nobody who listens knows what they are for. */
const NAMED = new Set(['button', 'link', 'textbox', 'searchbox', 'checkbox', 'combobox', 'treegrid', 'grid', 'table', 'row',
  'menu', 'menuitem', 'dialog', 'alertdialog', 'tab', 'slider', 'spinbutton', 'image', 'img', 'region', 'navigation']);

/** The roles of what has no name, although it needs one. */
export const nameless = (nodes) => nodes.filter(({ role, name }) => NAMED.has(role) && name.trim() === '')
  .map(({ role, node }) => `${role} ${node}`);
