// A client that shows its writes before they are confirmed does what Tests/Vectors/optimistic.json says, which Swift
// writes: after each step of a random history with lost connections, refusals, and writes of others.

import { laidLists } from '../../overlay/laid-lists.js';
import { Pending, PendingWrite } from '../../overlay/pending.js';
import { fromHex } from '../../wire/bytes.js';
import { decodeModel } from '../../wire/model.js';
import { NestDate } from '../../wire/values.js';
import { same } from '../rules/same.js';
import { asRead, mutationsOf, viewOf } from './states.js';

class Client {
  pending = new Pending();
  writes = new Map();
  lists = new Map();

  constructor({ model, now }) {
    this.model = decodeModel(fromHex(model));
    this.now = new NestDate(Number(now));
  }

  take(event) {
    const { pending } = this;
    const write = (name) => this.writes.get(event[name]);
    if ('write' in event) {
      const made = Object.assign(new PendingWrite(), {
        tx: { mutations: mutationsOf(event.transaction) }, now: this.now, place: event.place ?? event.write,
      });
      if (event.open) made.phase = 'open';
      this.writes.set(event.write, made);
      pending.add(made);
    } else if ('grown' in event) write('grown').tx = { mutations: mutationsOf(event.transaction) };
    else if ('ended' in event) write('ended').phase = 'queued';
    else if ('withdrawn' in event) pending.end(write('withdrawn'), 'refused');
    else if ('retracted' in event || 'restored' in event) {
      const { retracted, restored } = event;
      this.writes.get(retracted ?? restored).isShown = restored !== undefined;
      if (retracted !== undefined) pending.reconsider();
    } else if ('undone' in event) {
      // It stays hidden until every list has its undo.
    } else if ('sent' in event) pending.sent(write('sent'));
    else if ('own' in event) pending.named(write('own'), event.revision);
    else if ('receipt' in event) pending.received(write('receipt'), { revision: event.revision, isChanged: true });
    else if ('unchanged' in event) pending.received(write('unchanged'), { revision: event.revision, isChanged: false });
    else if ('refused' in event) pending.end(write('refused'), 'refused');
    else if ('again' in event) pending.again(write('again'));
    else if ('lost' in event) pending.lost();
    else if ('view' in event) {
      const view = viewOf(event);
      // One list stays one object: what is remembered of its rows belongs to it.
      const list = this.lists.get(event.view) ?? { id: event.view };
      this.lists.set(event.view, Object.assign(list, { head: view.state.revision, state: view.state, view }));
    } else this.lists.delete(event.removed);
  }

  /** What is shown now, by the numbers of the views. */
  shown() {
    this.pending.reached([...this.lists.values()].map(({ head }) => head));
    const found = laidLists(this.lists.values(), this.pending, () => this.model, (error) => { throw error; });
    return new Map([...found].map(([{ id }, one]) => [id, one.found]));
  }
}

export function run({ optimistic: { traces } }, test) {
  test('a client shows what the traces say after each step', () => {
    let count = 0;
    traces.forEach((trace, number) => {
      const client = new Client(trace);
      const expected = new Map();
      trace.events.forEach((event, index) => {
        if (!('shown' in event)) return client.take(event);
        for (const view of event.shown) expected.set(view.view, view);
        const shown = client.shown();
        for (const id of expected.keys()) if (!shown.has(id)) expected.delete(id);
        for (const [id, got] of shown) {
          const wanted = expected.get(id);
          if (wanted) same(asRead(got), asRead(wanted), `trace ${number}, event ${index}, view ${id}`);
          count += 1;
        }
        return undefined;
      });
    });
    same(count > 300, true, `${count} states`);
  });
}
