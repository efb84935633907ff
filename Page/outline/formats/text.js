// Indented text: a title a line, with a tab for each level. As nestc reads and writes it: docs/outlines.md, "Formats".
// Rows of all formats are `{ depth, title, note, done, extra }`, in preorder.

const TAB_COLUMNS = 4;

/** Turns columns into depths: further right is one deeper; between two levels is the nearer one. */
class Levels {
  #columns = [];

  depth(column) {
    const columns = this.#columns;
    const last = columns.at(-1);
    if (last === undefined || column > last) return columns.push(column) - 1;
    let level = Math.max(0, columns.findLastIndex((each) => each <= column));
    if (columns[level] < column && columns[level + 1] - column <= column - columns[level]) level += 1;
    columns.length = level + 1;
    columns[level] = column;
    return level;
  }
}

/** Reads indented text. */
export function readText(text) {
  const levels = new Levels();
  const rows = [];
  let unit = null;
  for (const line of text.replace(/^\ufeff/, '').split(/\r\n|\n|\r/)) {
    const [space] = /^[\t ]*/.exec(line);
    const title = line.slice(space.length);
    if (title === '') continue;
    let column = 0;
    for (const each of space) {
      if (each === '\t') column = (Math.floor(column / (unit ?? TAB_COLUMNS)) + 1) * (unit ?? TAB_COLUMNS);
      else column += 1;
    }
    if (unit === null && column > 0) unit = space.includes('\t') ? TAB_COLUMNS : column;
    rows.push({ depth: levels.depth(column), title: unescaped(title) });
  }
  return rows;
}

/** Whether a title would read back as something else: then it gets a backslash, and `\n` for its line ends. */
function needsEscape(title) {
  for (let text = title; text !== null; text = unescapedLine(text)) {
    if (/^$|^[ \t\ufeff]|[\r\n]/.test(text)) return true;
  }
  return false;
}

const escaped = (title) => (needsEscape(title)
  ? `\\${title.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('\r', '\\r')}` : title);

/** The text of an escaped line; null: it is not escaped. */
function unescapedLine(line) {
  if (!/^\\(?:[^\\]|\\[\\nr])*$/s.test(line)) return null;
  return line.slice(1).replace(/\\([\\nr])/g, (_, each) => ({ n: '\n', r: '\r' }[each] ?? each));
}

/** A line that begins with a backslash means itself, unless its title needs one. */
function unescaped(line) {
  const title = unescapedLine(line);
  return title !== null && needsEscape(title) ? title : line;
}

/** Writes a row as a line of indented text. */
export const textOf = ({ depth, title }) => `${'\t'.repeat(depth)}${escaped(title)}\n`;
