// Outlines: field 9 of a fetch request, and the message that folds and unfolds. Importing this file adds them to
// request.js and messages.js.
import { malformed } from './bytes.js';
import { checked, choice, codec, list, number16, object, struct } from './codec.js';
import { Limits } from './limits-more.js';
import { addMessages, messages } from './messages.js';
import { requestFields } from './request.js';

/** What only the rows of outlines have: the number of children (-1-n if they are folded), and the depth. */
export const childrenProperty = 65534;
export const depthProperty = 65535;

const kind = choice(['none', 'all', 'attribute', 'asBefore']);

/** 'none', 'all', 'asBefore', or `{attribute}`. */
const expansion = codec((r) => {
  const name = kind.read(r);
  const attribute = number16.read(r);
  if (name === 'attribute') return { attribute };
  if (attribute) throw malformed('an expansion has an attribute');
  return name;
}, (w, v) => {
  const attribute = v?.attribute;
  kind.write(w, attribute ? 'attribute' : v);
  number16.write(w, attribute ?? 0);
});

const outline = checked(
  struct({ expansion, exceptions: list(object, 1, Limits.outlineExceptionsMax) }),
  (v) => v.expansion !== 'asBefore' || v.exceptions.length === 0, 'an outline as before has exceptions',
);
requestFields[9] = ['outline', outline, null];

addMessages({
  setExpanded: [0x3d, struct({
    '.view': messages.unsubscribe[1],
    states: checked(list(struct({ object, isExpanded: choice([false, true]) }), 2, Limits.outlineExceptionsMax),
      (states) => states.length > 0, 'nothing is folded or unfolded'),
  })],
});
