// Random objects of model.json, and random requests for them.

import { Double, NestDate, Reference, UUID } from '../../wire/values.js';
import { generator } from './text.js';

export const texts = ['', 'a', 'A', 'ab', 'Ab', 'ÄB', 'A\u0308b', 'ß', 'ss', 'SS', 'ẞ', 'ΟΔΟΣ', 'οδος', 'οδοσ',
  'İ', 'i', 'I', 'ı', 'ﬁ', 'fi', '\uff5e', '\u{1f600}', '*', '?', '\\', 'a*b', 'a\\b', '\n', 'é', 'e', '한', '\u0301',
  'ǆ', 'ǅ', '1', '10', '9'];
export const pools = {
  string: texts,
  uri: ['urn:a', 'urn:B', 'https://x.org/a%20b', 'https://x.org/A'],
  integer: [0, 1, -1, 9, 10, 2 ** 53 - 1, 2n ** 53n, 2n ** 53n + 1n, 2n ** 63n - 1n, -(2n ** 63n)],
  integer16: [0, 1, -32_768, 32_767],
  double: [0, -0, 0.5, -1.5, 1, 2 ** 53, 1e300, 5e-324, -Infinity, Infinity],
  float: [0, 0.1, 0.5, -2, 3.5],
  decimal: ['0', '0.1', '-0.1', '9', '10', '12.5', '-12.5', '12345678901234567890.5'],
  boolean: [true, false],
  date: [0, -1, 1, 1_793_999_999_999_999, 2n ** 63n - 1n, -(2n ** 63n)].map((moment) => new NestDate(moment)),
  data: [[], [0], [0, 255], [1], [255]].map((bytes) => Uint8Array.from(bytes)),
  uuid: ['00'.repeat(16), 'ff'.repeat(16), '00112233445566778899aabbccddeeff'].map((hex) => new UUID(hex)),
};
/**
 * Ranges of letters: Latin, Greek, Cyrillic, Armenian, Hebrew with points, Devanagari, Georgian, Cherokee, Vietnamese,
 * Korean, ligatures, Deseret, Adlam, mathematical letters; combining marks; ASCII. Unicode has had all for long.
 */
const alphabets = [[0xc0, 0x24f], [0x386, 0x38a], [0x391, 0x3a1], [0x3a3, 0x3ff], [0x400, 0x481], [0x531, 0x556],
  [0x5b0, 0x5c5], [0x901, 0x939], [0x10a0, 0x10c5], [0x13a0, 0x13f5], [0x1e00, 0x1eff], [0xac00, 0xd7a3],
  [0xfb00, 0xfb06], [0x10400, 0x1044f], [0x1e900, 0x1e943], [0x1d400, 0x1d454], [0x300, 0x36f], [0x20, 0x7e]];
const numbers = ['integer', 'integer16', 'double', 'float'];

/** Makes random objects and requests. The same seed makes the same. */
export class People {
  /** @param seed @param person the description of the entity */
  constructor(seed, person) {
    this.random = generator(seed);
    this.person = person;
    this.number = (name) => person.property(name).number;
  }

  pick(list) {
    return list[this.random(list.length)];
  }

  chance(percent) {
    return this.random(100) < percent;
  }

  /** A short text of letters that fold in unusual ways, and of others. */
  text() {
    const letter = () => {
      const [first, last] = this.pick(alphabets);
      return String.fromCodePoint(first + this.random(last - first + 1));
    };
    return Array.from({ length: 1 + this.random(3) }, letter).join('');
  }

  /** A value to compare with a value of the type: numbers in every form. */
  wanted(type) {
    if (!numbers.includes(type)) return this.pick(pools[type]);
    const kind = this.pick(numbers);
    const value = this.pick(pools[kind]);
    return kind === 'double' || kind === 'float' ? new Double(value) : value;
  }

  /** A path to an attribute or a count, after these steps. */
  leaf(before, after = []) {
    const steps = [...before, ...after].map(this.number);
    if (this.chance(20)) {
      const property = this.number(this.pick(['team', 'friends']));
      return { type: 'integer', path: { steps: steps.slice(0, 3), leaf: 2, property } };
    }
    const attribute = this.pick(this.person.attributes);
    return { type: attribute.type, path: { steps, leaf: 1, property: attribute.number } };
  }

  comparison(ids) {
    if (this.chance(6)) {
      const values = [new Reference(this.pick(ids)), this.number('team')];
      const path = { steps: [], leaf: 0, property: 0 };
      return { quantifier: 0, path, operator: 'IN SUBTREE', folding: 0, values };
    }
    const quantifier = this.chance(30) ? 1 + this.random(3) : 0;
    const before = Array.from({ length: this.pick([0, 0, 1, 2]) }, () => 'boss');
    const many = quantifier ? [...before.slice(0, 1), this.pick(['team', 'friends'])] : before;
    if (this.chance(12)) {
      const steps = quantifier ? many : this.chance(25) ? [] : [...before, 'boss'];
      const path = { steps: steps.map(this.number), leaf: 0, property: 0 };
      const operator = this.pick(['==', '!=', 'IN']);
      const values = Array.from({ length: operator === 'IN' ? this.random(4) : 1 },
        () => (this.chance(20) ? null : new Reference(this.pick(ids))));
      return { quantifier, path, operator, folding: 0, values };
    }
    const { type, path } = this.leaf(many, quantifier && this.chance(20) ? ['boss'] : []);
    const isText = type === 'string' || type === 'uri';
    const ordered = ['==', '!=', '<', '<=', '>', '>=', 'BETWEEN', 'IN'];
    const operator = this.pick(isText ? [...ordered, 'CONTAINS', 'BEGINSWITH', 'ENDSWITH', 'LIKE', 'LIKE'] : ordered);
    const folding = isText ? this.random(4) : 0;
    if (operator === 'LIKE') {
      const pattern = Array.from({ length: this.random(4) }, () => this.pick(['*', '?', '\\', ...texts])).join('');
      return { quantifier, path, operator, folding, values: [pattern] };
    }
    const isPart = ['CONTAINS', 'BEGINSWITH', 'ENDSWITH'].includes(operator);
    const count = operator === 'BETWEEN' ? 2 : operator === 'IN' ? this.random(5) : 1;
    const values = Array.from({ length: count }, () => (!isPart && this.chance(15) ? null : this.wanted(type)));
    return { quantifier, path, operator, folding, values };
  }

  predicate(ids) {
    const nodes = [];
    let depth = 0;
    for (let left = 1 + this.random(5); left > 0 || depth > 1; left -= 1) {
      if (left > 0) {
        nodes.push(this.chance(3) ? { constant: this.chance(50) } : this.comparison(ids));
        depth += 1;
      }
      if (this.chance(20)) nodes.push({ not: true });
      if (depth > 1 && (left <= 0 || this.chance(40))) {
        const count = 2 + this.random(depth - 1);
        nodes.push(this.chance(50) ? { and: count } : { or: count });
        depth -= count - 1;
      }
    }
    return nodes;
  }

  sort() {
    return Array.from({ length: this.random(4) }, () => {
      const { type, path } = this.leaf(this.chance(25) ? ['boss'] : []);
      const folding = type === 'string' || type === 'uri' ? this.random(4) : 0;
      return { type, path, folding, descending: this.chance(40) };
    });
  }

  section([first]) {
    if (!first || this.chance(40) || first.type === 'decimal' || first.type === 'data') return null;
    const more = { date: ['year', 'month', 'day'], string: ['firstCharacter'], uri: ['firstCharacter'] };
    const by = ['value', ...more[first.type] ?? []];
    return { function: this.pick(by), path: first.path };
  }

  /** Stores random objects; returns their ids. */
  async populate(nest, people) {
    const news = [];
    const receipt = await nest.transaction('people', (tx) => {
      for (let count = 40; count > 0; count -= 1) {
        const values = {};
        for (const { name, type } of people.description.attributes) {
          if (this.chance(75)) values[name] = type === 'string' && this.chance(30) ? this.text() : this.pick(pools[type]);
        }
        if (news.length && this.chance(70)) values.boss = this.pick(news);
        news.push(tx.insert(people, values));
      }
      for (let count = 30; count > 0; count -= 1) tx.relate(people, this.pick(news), 'friends', this.pick(news));
    });
    return news.map((one) => receipt.id(one));
  }
}
