// The part of XML that outlines are made of: tags with attributes. Made for files of other programs, which are not
// always valid: a bare & or < in a text is itself. It opens nothing outside of the text.

const NAMED = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0' };
const VALUE = String.raw`\s+[^\s=>/]+\s*=\s*(?:"[^"]*"|'[^']*')`;
/** Comments, instructions and declarations have no groups; then the name of an end, or name, attributes and slash. */
const TAG = new RegExp([
  String.raw`<(?:!--[^]*?--|\?[^]*?\?|!\[CDATA\[[^]*?\]\]|![^>]*`, String.raw`\/([^\s>]+)\s*`,
  String.raw`([A-Za-z_:][^\s/>]*)((?:${VALUE})*)\s*(\/?))>`,
].join('|'), 'g');
const ATTRIBUTE = /([^\s=>/]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g;

const REFERENCE = /&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|([a-z]+));/gi;

/** A text with its references replaced. */
export const decoded = (text) => text.replace(REFERENCE, (whole, hex, decimal, name) => {
  if (name) return NAMED[name] ?? whole;
  const code = parseInt(hex ?? decimal, hex ? 16 : 10);
  return code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code < 0xe000) ? String.fromCodePoint(code) : whole;
});

/** Characters that XML cannot hold: controls, and halves of characters. */
const FORBIDDEN = new RegExp([String.raw`[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]`,
  String.raw`[\ud800-\udbff](?![\udc00-\udfff])`, String.raw`(?<![\ud800-\udbff])[\udc00-\udfff]`].join('|'), 'g');

/** A text as the value of an attribute. Line ends and tabs are references: otherwise they read back as spaces. */
export const encoded = (text) => text.replace(FORBIDDEN, '\ufffd').replace(/[&<>"\n\r\t]/g, (each) =>
  ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', '\n': '&#10;', '\r': '&#13;', '\t': '&#9;' }[each]));

/** Calls `begin(name, attributes)` and `end(name)` for the elements of a text. Attributes: `[name, value]`. */
export function parseXML(source, { begin, end }) {
  for (const found of source.matchAll(TAG)) {
    const [, closing, name, list, isEmpty] = found;
    if (closing) end(closing);
    if (!name) continue;
    // White space in a value is a space; a line end is a reference.
    begin(name, [...list.matchAll(ATTRIBUTE)].map(([, key, double, single]) =>
      [key, decoded((double ?? single).replace(/[\t\r\n]/g, ' '))]));
    if (isEmpty) end(name);
  }
}

/** Whether XML allows a name for an attribute. */
export const isXMLName = (name) => /^[\p{L}_:][\p{L}\p{N}\p{M}_:.\u00b7-]*$/u.test(name);
