// Where rows go that are dragged. Pure.

/**
 * The place between the rows `gap - 1` and `gap` at about a depth. `rows`: those shown; `skipped`: the keys of rows
 * that are dragged, with all below them. Returns `{ parent, after, before, depth }`: `parent` null is the object above
 * the outline; or null if there is no place.
 */
export function placeAt(rows, gap, wanted, skipped) {
  const isSkipped = skippedRows(rows, skipped);
  let above = gap - 1;
  while (above >= 0 && isSkipped[above]) above -= 1;
  let below = gap;
  while (below < rows.length && isSkipped[below]) below += 1;
  const least = below < rows.length ? rows[below].depth : 0;
  const most = above >= 0 ? rows[above].depth + 1 : 0;
  const depth = Math.min(most, Math.max(least, wanted));
  if (above < 0) return { parent: null, after: null, before: rows[below]?.key ?? null, depth: 0 };
  if (depth === rows[above].depth + 1) {
    const isFirst = rows[above].isExpanded && below < rows.length && rows[below].depth === depth;
    return { parent: rows[above].key, after: null, before: isFirst ? rows[below].key : null, depth };
  }
  let after = above;
  while (after >= 0 && (rows[after].depth > depth || isSkipped[after])) after -= 1;
  if (after < 0 || rows[after].depth !== depth) return null;
  return { parent: depth === 0 ? null : rows[after].parent, after: rows[after].key, before: null, depth };
}

/** For each row whether it is one of these, or below one. */
function skippedRows(rows, keys) {
  let depth = Infinity;
  return rows.map((row) => {
    if (row.depth <= depth) depth = Infinity;
    if (depth === Infinity && keys.has(row.key)) {
      depth = row.depth;
      return true;
    }
    return depth !== Infinity;
  });
}
