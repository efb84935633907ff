// The code blocks of a page.

/** The lines of the blocks of a language, at the same line numbers as in the page; all other lines are empty. */
export function program(page, language) {
  let block = null;
  return page.split('\n').map((line) => {
    const fence = /^ *```(.*)$/.exec(line);
    if (fence) block = block === null ? fence[1] : null;
    return !fence && block === language ? line : '';
  }).join('\n');
}

/** The lines that a program says it prints. */
export const expected = (source) => Array.from(source.matchAll(/\/\/ → (.*)$/gm), (match) => match[1]);

/** The first block of a language whose first line is this one, in the part of the page after a heading. */
export function block(page, language, { first = '', after = '' } = {}) {
  const blocks = page.slice(page.indexOf(after)).matchAll(/^```(.*)\n([^]*?)^```$/gm);
  const found = Array.from(blocks).find(([, label, code]) => label === language && code.startsWith(first));
  if (!found || !page.includes(after)) throw new Error(`the page has no block of ${language} ${after} ${first}`);
  return found[2];
}
