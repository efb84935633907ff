// What keys do, for the help that ? opens: `[keys, what they do, whether they write]`.

const GROUPS = [
  ['While you write', [
    ['Enter', 'A new row; inside of a text, split it', true],
    ['Shift+Enter', 'The note of the row, and back', true],
    ['Tab', 'Indent; Shift+Tab outdents', true],
    ['Backspace', 'At the beginning: join with the row above', true],
    ['Ctrl+Enter', 'Done', true],
    ['Ctrl+Shift+↑ ↓', 'Move the row up, down', true],
    ['Ctrl+Shift+Backspace', 'Delete the row and all below it', true],
    ['Escape', 'Select rows instead of text', true],
  ]],
  ['In the outline', [
    ['↑ ↓', 'The row above, below'],
    ['Ctrl+↑ ↓', 'Fold, unfold'],
    ['Alt+→ ←', 'Open the row; out again'],
    ['Ctrl+Z', 'Undo what you did last; Ctrl+Shift+Z does it again', true],
    ['Ctrl+K', 'Search; / does, too, unless you write'],
  ]],
  ['With rows selected', [
    ['Shift+↑ ↓', 'Select several'],
    ['Ctrl+A', 'Select all that are here'],
    ['Enter', 'Write in the row', true],
    ['Space', 'Done', true],
    ['← →', 'Fold, or to the row above; unfold'],
    ['Delete', 'Delete', true],
    ['Ctrl+C', 'Copy as text, Markdown or OPML, by what takes it'],
    ['Ctrl+X Ctrl+V', 'Cut; paste below', true],
    ['Shift+F10', 'Everything else'],
  ]],
];

/** The help for somebody. */
export const keysFor = (mayEdit) => GROUPS.map(([title, keys]) => ({
  title, keys: keys.filter(([, , writes]) => mayEdit || !writes).map(([key, what]) => [key, what]),
})).filter(({ keys }) => keys.length > 0);
