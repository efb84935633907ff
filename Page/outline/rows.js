// Draws the rows in view, and some around them, whatever their number. What one looks at stays where it is on the
// screen when others write above it.

import { calm, make } from '../shell/dom.js';
import { endOf, indexOf, parentOf } from './overlay.js';
import { RowElement } from './row.js';
import { Viewport } from './viewport.js';

/** Rows that are drawn above and below those in view. */
const BESIDE = 8;
/** Rows in the page, at most: also on the highest screens. */
const DRAWN_MAX = 148;
const MOVE_MS = 180;
/** Of more rows that move, only those are seen to move that go further than a new row makes others go. */
const MOVING_MAX = 40;

export class Rows {
  #tree;
  #viewport = new Viewport();
  #elements = new Map();
  #greys = [];
  #focus = { key: null, field: null, row: null };
  #selected = new Set();
  #scrollTop = 0;
  #heights = new Map();
  #isTouched = false;
  #frame = null;
  #mayEdit;
  /** Called after each drawing. `isLate`: places are read later, and it is called again. */
  drawn = (isLate) => {};

  constructor(tree, { mayEdit }) {
    this.#tree = tree;
    this.#mayEdit = mayEdit;
    this.list = make('div', {
      id: 'rows', className: 'rows', role: 'treegrid', tabIndex: 0, 'aria-label': 'Outline',
      'aria-multiselectable': 'true',
    });
    this.layer = make('div', { className: 'layer' }, this.list);
    this.spacer = make('div', { className: 'spacer' }, this.layer);
    this.element = make('div', { id: 'outline', className: 'scroller', tabIndex: -1 }, this.spacer);
    this.element.addEventListener('scroll', () => this.#scrolled(), { passive: true });
    this.element.addEventListener('scrollend', () => this.#showPlace());
    this.element.addEventListener('wheel', (event) => this.#wheeled(event), { passive: false });
    this.element.addEventListener('touchstart', () => { this.#isTouched = true; }, { passive: true });
    this.observer = new ResizeObserver(() => this.#resized());
    this.observer.observe(this.element);
  }

  close() {
    this.observer.disconnect();
    cancelAnimationFrame(this.#frame);
    cancelAnimationFrame(this.#glideFrame);
  }

  #resized() {
    const { height } = this.element.getBoundingClientRect();
    const probe = this.list.appendChild(make('div', { className: 'row' }, '\u00a0'));
    const style = getComputedStyle(probe);
    this.#viewport.rowHeight = parseFloat(style.minHeight) || 34;
    probe.remove();
    this.#viewport.height = height;
    this.#viewport.room = Math.min(height / 3, 200);
    this.layer.style.height = `${height}px`;
    this.#heights.clear();
    this.draw();
  }

  // MARK: What is drawn

  /** The row that has the keyboard stays in the page, wherever one scrolls. `field`: the one that is edited. */
  focus(key, field = null) {
    this.#focus = { key, field, row: this.#tree.row(key) ?? (this.#focus.key === key ? this.#focus.row : null) };
  }

  select(keys) {
    this.#selected = keys;
  }

  /** The element of a row that is drawn. */
  elementOf(key) {
    return this.#elements.get(key) ?? null;
  }

  /** The elements of all rows that are drawn. */
  get shown() {
    return this.#elements.values();
  }

  /** Where a row that is drawn is in the layer, or will be when it has glided there. */
  topOf(key) {
    this.#finish();
    return this.#elements.get(key).element.offsetTop + this.#shift;
  }

  /** Whether a row, or a part of it, is in view. */
  isInView(key) {
    this.#finish();
    const element = this.#elements.get(key)?.element;
    if (!element || element.classList.contains('away')) return false;
    const top = element.offsetTop + this.#shift;
    return top < this.#viewport.height && top + element.offsetHeight > 0;
  }

  /** The row of an element inside of it. */
  rowAt(target) {
    const key = Number(target.closest?.('.row')?.dataset.key);
    return this.#tree.row(key) ?? null;
  }

  /** The first row in view, and how many are. */
  get view() {
    const { index, height, rowHeight } = this.#viewport;
    return { first: index, count: Math.ceil(height / rowHeight) };
  }

  /** Shows the tree's rows. `isElsewhere`: they are others than before. */
  show({ isElsewhere = false, animates = true } = {}) {
    const viewport = this.#viewport;
    const isMoving = performance.now() - this.#movedAt < MOVE_MS;
    // A hidden page has no frames.
    this.#finish();
    const isStill = isElsewhere || !animates || isMoving || calm.matches || document.hidden;
    const before = isStill ? null : this.#placed;
    const held = isElsewhere ? null : this.#held();
    viewport.total = this.#tree.total;
    if (isElsewhere) this.#start();
    else if (held) {
      const place = this.#tree.place(held.key);
      if (place >= 0) Object.assign(viewport, { index: place, offset: held.top, wantsEnd: false });
    }
    this.draw({ isLate: !isElsewhere });
    if (before) this.#glide(before);
  }

  #start() {
    Object.assign(this.#viewport, { index: 0, offset: 0, wantsEnd: false });
    this.#heights.clear();
  }

  /** What stays where it is: the row with the keyboard if it is in view, otherwise the first one that is. */
  #held() {
    const { index, offset, height } = this.#viewport;
    if (index === 0 && offset >= 0 && this.#focus.key === null) return null;
    const { key: focus } = this.#focus;
    const top = focus === null ? null : this.#topInView(focus);
    if (top !== null) return { key: focus, top };
    if (index === 0 && offset >= 0) return null;
    for (const key of this.#placed.keys()) {
      const above = this.#topInView(key);
      if (above !== null) return { key, top: above };
    }
    return null;
  }

  /** How far a row of before is below the top of the view; null: it is not in view, or not in the tree any more. */
  #topInView(key) {
    const { height, rowHeight } = this.#viewport;
    const near = this.#placed.get(key);
    // Only the browser knows it exactly, and lays out the page for it.
    if (near === undefined || near < -rowHeight || near > height + rowHeight || this.#tree.index(key) < 0) return null;
    const top = this.topOf(key);
    return top >= 0 && top < height ? top : null;
  }

  #shift = 0;
  /** Whether heights and places are to be read before the next frame. */
  #isLate = false;

  /** Where rows are is asked for. */
  #finish() {
    if (this.#isLate) this.draw();
  }

  /**
   * Draws the rows in view. `isLate`: what the browser lays out for it is read before the next frame, or when it is asked
   * for; the rows, their texts and their order are there at once.
   */
  draw({ isLate = false } = {}) {
    const viewport = this.#viewport;
    if (viewport.height === 0) return;
    // A hidden page has no frames; and the end is where the heights say.
    this.#isLate = isLate && !document.hidden && !viewport.wantsEnd;
    viewport.total = this.#tree.total;
    this.spacer.style.height = `${viewport.spacerHeight}px`;
    // Heights are known when rows are drawn, and may show that others are in view.
    for (let turn = 0; turn < 4; turn += 1) {
      const { from, to } = this.#range();
      this.#place(from, to);
      // Without heights it is not known where the end is.
      if (this.#isLate) break;
      const { index, offset } = viewport;
      this.#measure();
      viewport.settle((at) => this.#heightAt(at));
      if (viewport.index === index && viewport.offset === offset) break;
      const next = this.#range();
      if (next.first >= from && next.last <= to) break;
    }
    viewport.wantsEnd = false;
    this.#note();
    this.#describe();
    if (this.#isLate) this.drawSoon();
    else {
      this.#arrange();
      this.#showPlace();
      this.#tree.need(viewport.index, this.view.count);
    }
    this.drawn(this.#isLate);
  }

  /** About where the rows that are drawn are below the top of the view, in their order: the sum of heights. */
  #placed = new Map();

  #note() {
    const { index, offset } = this.#viewport;
    this.#placed = new Map();
    let top = offset;
    for (let place = this.from; place < index; place += 1) top -= this.#heightAt(place);
    for (let place = this.from; place < this.to; place += 1) {
      const key = this.#tree.at(place)?.key;
      if (this.#elements.has(key)) this.#placed.set(key, top);
      top += this.#heightAt(place);
    }
  }

  #range() {
    const { index, offset, height, rowHeight, total } = this.#viewport;
    const above = Math.max(0, Math.ceil(offset / rowHeight));
    const first = Math.max(0, index - above);
    const last = Math.min(total, index + Math.ceil((height - offset) / rowHeight) + 1);
    const beside = Math.max(0, Math.min(BESIDE, Math.floor((DRAWN_MAX - (last - first)) / 2)));
    const to = Math.min(total, Math.min(last, first + DRAWN_MAX) + beside);
    return { first, last, from: Math.max(0, first - beside), to };
  }

  #heightAt(place) {
    const key = this.#tree.at(place)?.key;
    return this.#heights.get(key) ?? this.#viewport.rowHeight;
  }

  /** Reads the heights of rows that have come or changed: each look costs, also if the height is the same. */
  #measure() {
    this.#elements.forEach((shown, key) => {
      if ((shown.isMeasured && this.#heights.has(key)) || shown.element.classList.contains('away')) return;
      this.#heights.set(key, shown.element.offsetHeight);
      shown.isMeasured = true;
    });
    if (this.#heights.size > 4 * DRAWN_MAX) {
      for (const key of this.#heights.keys()) if (!this.#elements.has(key)) this.#heights.delete(key);
    }
  }

  /** The number of the newest drawing. */
  #drawing = 0;

  /** Makes the rows of a range children of the list, in order. */
  #place(from, to) {
    this.from = from;
    this.to = to;
    const tree = this.#tree;
    const wanted = [];
    let greys = 0;
    const { key: focus, field } = this.#focus;
    if (focus !== null && tree.row(focus)) this.#focus.row = tree.row(focus);
    const away = focus !== null && this.#focus.row && !isWithin(tree.place(focus), from, to) ? this.#focus.row : null;
    const drawing = this.#drawing += 1;
    for (let place = from; place < to; place += 1) {
      const row = tree.at(place);
      if (row) {
        wanted.push(this.#elementFor(row, place, field));
      } else {
        const grey = this.#greys[greys] ??= new RowElement({ mayEdit: this.#mayEdit });
        greys += 1;
        grey.grey(place);
        wanted.push(grey.element);
      }
    }
    if (away && this.#elements.get(away.key)?.drawing !== drawing) {
      const place = tree.place(away.key);
      const element = this.#elementFor(away, place < 0 ? 0 : place, field);
      element.classList.add('away');
      if (place < from) wanted.unshift(element);
      else wanted.push(element);
    }
    this.#elements.forEach((shown, key) => {
      if (shown.drawing === drawing) return;
      shown.element.remove();
      this.#elements.delete(key);
    });
    for (const grey of this.#greys.splice(greys)) grey.element.remove();
    let next = this.list.firstElementChild;
    for (const element of wanted) {
      if (element === next) next = next.nextElementSibling;
      else this.list.insertBefore(element, next);
    }
  }

  #elementFor(row, place, field) {
    let shown = this.#elements.get(row.key);
    if (!shown) {
      shown = new RowElement({ mayEdit: this.#mayEdit });
      this.#elements.set(row.key, shown);
    }
    shown.drawing = this.#drawing;
    shown.fill(row, {
      place, editing: row.key === this.#focus.key ? field : null, siblings: this.#siblings(place),
      isSelected: this.#selected.has(row.key),
    });
    shown.element.classList.remove('away');
    return shown.element;
  }

  /** Which of how many siblings a row is, if all before it are here. `count` -1: that is not known. */
  #siblings(place) {
    const { rows, start, total } = this.#tree;
    const index = place - start;
    const parent = parentOf(rows, index);
    const isTop = rows[index]?.depth === 0 && start === 0;
    if (parent < 0 && !isTop) return null;
    let [own, count] = [1, 0];
    for (let at = parent + 1; at < index; at = endOf(rows, at)) own += 1;
    if (!isTop) count = rows[parent].children;
    else if (rows.length < total) count = -1;
    else for (let at = 0; at < rows.length; at = endOf(rows, at)) count += 1;
    return { place: own, count };
  }

  /** Puts the anchor where it belongs. */
  #arrange() {
    const { index, offset } = this.#viewport;
    const isAwayAbove = this.list.firstElementChild?.classList.contains('away');
    const anchor = this.list.children[index - this.from + (isAwayAbove ? 1 : 0)];
    const shift = offset - (anchor?.offsetTop ?? 0);
    if (this.#shift === shift) return;
    this.#shift = shift;
    this.list.style.transform = `translateY(${shift}px)`;
  }

  /** What the list says of itself: the browser looks at each attribute that is set. */
  #described = null;

  #describe() {
    const { total } = this.#viewport;
    const { revision } = this.#tree;
    const described = `${total} ${revision}`;
    if (described === this.#described) return;
    this.#described = described;
    this.list.setAttribute('aria-rowcount', total);
    this.list.dataset.revision = revision;
  }

  #showPlace() {
    if (this.#isScrolling) return;
    const top = Math.round(this.#viewport.scrollTop(this.#heightAt(this.#viewport.index)));
    if (Math.abs(this.#scrollTop - top) < 1) return;
    // Not read again: that would lay out the page once more. The browser may round it.
    this.element.scrollTop = this.#scrollTop = top;
  }

  #glideFrame = null;
  /** Where rows were when the last frame was drawn, of those that are to glide: by key. */
  #was = new Map();

  /**
   * Rows glide to where they are now; those that are new appear. It begins with the next frame, before the browser paints
   * what has changed: so the rows do not wait for it.
   */
  #glide(before) {
    for (const [key, top] of before) if (!this.#was.has(key)) this.#was.set(key, top);
    this.#glideFrame ??= requestAnimationFrame(() => {
      this.#glideFrame = null;
      this.#finish();
      this.#animate();
    });
  }

  #animate() {
    const { height, rowHeight } = this.#viewport;
    const moved = [];
    for (const [key, top] of this.#placed) {
      const { element } = this.#elements.get(key);
      const by = (this.#was.get(key) ?? NaN) - top;
      if (Math.abs(by) > 1 && Math.abs(by) < height) moved.push([key, by]);
      else if (!this.#was.has(key) && this.#was.size > 0 && this.#tree.row(key)?.isNew !== true) {
        element.animate({ opacity: [0, 1] }, MOVE_MS);
      }
    }
    this.#was.clear();
    const isCrowd = moved.length > MOVING_MAX;
    for (const [key, by] of moved) {
      if (isCrowd && Math.abs(by) < 2 * rowHeight) continue;
      const shown = this.#elements.get(key);
      // The one before would go on unseen.
      shown.glide?.cancel();
      shown.glide = shown.element.animate({ transform: [`translateY(${by}px)`, 'none'] },
        { duration: MOVE_MS, easing: 'ease-out' });
    }
  }

  // MARK: Scrolling

  #isScrolling = false;
  /** When somebody has scrolled last: what comes into view then appears at once. */
  #movedAt = -Infinity;

  #scrolled() {
    const { scrollTop } = this.element;
    // Its own move comes back rounded to pixels of the screen, which are larger when the page is zoomed out.
    if (Math.abs(scrollTop - this.#scrollTop) < Math.max(1, 1.5 / devicePixelRatio)) return;
    this.#movedAt = performance.now();
    const from = this.#scrollTop;
    this.#scrollTop = scrollTop;
    const viewport = this.#viewport;
    const isByPixels = !viewport.isStretched || this.#isTouched;
    if (!isByPixels || !viewport.follow(from, scrollTop)) viewport.jump(scrollTop);
    this.#isByHand = true;
    this.drawSoon();
  }

  /** Whether a drawing that is due is one of a scroll. */
  #isByHand = false;

  /** Draws before the next frame. */
  drawSoon() {
    this.#frame ??= requestAnimationFrame(() => {
      this.#frame = null;
      // The bar stays where the hand has put it, until it rests.
      this.#isScrolling = this.#isByHand;
      this.#isByHand = false;
      this.draw();
      this.#isScrolling = false;
    });
  }

  /** In a stretched outline a pixel of the bar is more than one of the rows: the wheel moves rows. */
  #wheeled(event) {
    this.#isTouched = false;
    if (event.ctrlKey || !this.#viewport.isStretched) return;
    event.preventDefault();
    const { rowHeight, height } = this.#viewport;
    this.scrollBy(event.deltaY * [1, rowHeight, height][event.deltaMode]);
  }

  scrollBy(pixels) {
    this.#movedAt = performance.now();
    this.#viewport.moveBy(pixels);
    this.draw();
  }

  /** Brings a row into view that is here. Returns false if it is not here. */
  reveal(key) {
    const place = this.#tree.place(key);
    if (place < 0) return false;
    this.revealPlace(place);
    return true;
  }

  /** Brings the row with a number into view, whether it is here or not. */
  revealPlace(place) {
    const viewport = this.#viewport;
    const key = this.#tree.at(place)?.key;
    const shown = key === undefined ? null : this.#elements.get(key)?.element;
    if (shown && !shown.classList.contains('away')) {
      if (this.#isSurelyInView(key)) return;
      this.#finish();
      const top = shown.offsetTop + this.#shift;
      const bottom = top + Math.min(shown.offsetHeight, viewport.height - 2 * viewport.rowHeight);
      const last = viewport.height - viewport.rowHeight;
      if (top < 0) this.scrollBy(top);
      else if (bottom > last) this.scrollBy(bottom - last);
      return;
    }
    const isBelow = place > viewport.index;
    const offset = isBelow ? viewport.height - 2.5 * viewport.rowHeight : viewport.rowHeight;
    Object.assign(viewport, { index: place, offset, wantsEnd: false });
    this.draw();
  }

  /** Whether a row is in view with a row of room above and below: by sums, for which the browser lays out nothing. */
  #isSurelyInView(key) {
    const { height, rowHeight } = this.#viewport;
    const top = this.#placed.get(key);
    return top >= rowHeight && top + (this.#heights.get(key) ?? rowHeight) <= height - 2 * rowHeight;
  }

  /** Begins at a row, a third from the top: after one has gone elsewhere. */
  startAt(key) {
    const place = indexOf(this.#tree.rows, key);
    if (place < 0) return;
    const { height } = this.#viewport;
    Object.assign(this.#viewport, { index: this.#tree.start + place, offset: height / 3, wantsEnd: false });
    this.draw();
  }
}

const isWithin = (place, from, to) => place >= from && place < to;
