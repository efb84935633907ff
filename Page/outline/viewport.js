// Which rows a view of an outline shows, for outlines of any length. Pure: pixels and numbers.
//
// The rows have heights of their own, known only when they are drawn. So what is seen is an anchor: the index of a row,
// and how far its top is below the top of the view. The scroll bar is a map of that: an element of at most SPACER_MAX
// pixels, because browsers end elements somewhere above. In a long outline the thumb means a ratio, not a pixel.

/** The height of the element that makes the scroll bar, at most. */
export const SPACER_MAX = 8_000_000;

export class Viewport {
  /** The index of the anchor row, and the distance of its top from the top of the view. */
  index = 0;
  offset = 0;
  total = 0;
  /** The height of the view, and about that of a row. */
  height = 0;
  rowHeight = 34;
  /** Room below the last row. */
  room = 0;

  /** What all rows would measure. */
  get length() {
    return this.total * this.rowHeight + this.room;
  }

  get spacerHeight() {
    return Math.max(this.height, Math.min(SPACER_MAX, this.length));
  }

  /** Pixels of content for one pixel of the scroll bar. */
  get ratio() {
    const range = this.spacerHeight - this.height;
    return range > 0 ? (this.length - this.height) / range : 1;
  }

  get isStretched() {
    return this.length > SPACER_MAX;
  }

  /** What the scroll bar shows for the anchor; `height`: of the anchor row. The ends are kept for the ends. */
  scrollTop(height = this.rowHeight) {
    const range = this.spacerHeight - this.height;
    if (range <= 0 || (this.index === 0 && this.offset >= 0)) return 0;
    const part = Math.min(1, Math.max(0, -this.offset / height));
    const top = ((this.index + part) * this.rowHeight) / this.ratio;
    return this.isAtEnd ? range : Math.min(range - 2, Math.max(2, top));
  }

  /** Whether the last row is as far up as it goes; `settle` finds it out. */
  isAtEnd = false;
  /** Whether it shall be, however high the rows turn out to be: until they are drawn. */
  wantsEnd = false;

  /** Goes where the scroll bar was moved to. */
  jump(scrollTop) {
    const range = this.spacerHeight - this.height;
    this.wantsEnd = range > 0 && scrollTop >= range - 1;
    if (this.wantsEnd) {
      this.index = Math.max(0, this.total - 1);
      // Drawing puts the last row where it belongs.
      this.offset = 0;
      return;
    }
    const top = Math.max(0, scrollTop) * this.ratio;
    this.index = Math.min(Math.max(0, this.total - 1), Math.floor(top / this.rowHeight));
    this.offset = this.index * this.rowHeight - top;
  }

  /** Moves the content up by some pixels. */
  moveBy(pixels) {
    this.offset -= pixels;
    this.wantsEnd = false;
  }

  /**
   * The scroll bar was moved from one place to another by a finger or a wheel: the content follows by pixels, but so
   * that it is at its end when the bar is. Returns false for a jump.
   */
  follow(from, to) {
    const by = to - from;
    const range = this.spacerHeight - this.height;
    if (to <= 0 || to >= range - 1 || Math.abs(by) > 1.5 * this.height) return false;
    const content = (this.index * this.rowHeight) - this.offset;
    const rest = by < 0 ? [content, from] : [this.length - this.height - content, range - from];
    const isNearEnd = !this.isStretched && rest[1] < 3 * this.height && rest[1] > 0;
    this.moveBy(isNearEnd ? by * Math.max(0, rest[0] / rest[1]) : by);
    return true;
  }

  /**
   * Makes the first row in view the anchor, and keeps the content inside of its ends. `heightAt(index)`: of a row.
   */
  settle(heightAt) {
    this.index = Math.min(this.index, Math.max(0, this.total - 1));
    if (this.wantsEnd) this.#toEnd(heightAt);
    while (this.offset > 0 && this.index > 0) {
      this.index -= 1;
      this.offset -= heightAt(this.index);
    }
    if (this.index === 0 && this.offset > 0) this.offset = 0;
    while (this.index < this.total - 1 && this.offset + heightAt(this.index) <= 0) {
      this.offset += heightAt(this.index);
      this.index += 1;
    }
    this.#stop(heightAt);
  }

  /** The last row comes no higher than its place at the end. */
  #stop(heightAt) {
    this.isAtEnd = false;
    let bottom = this.offset;
    for (let index = this.index; index < this.total; index += 1) {
      bottom += heightAt(index);
      if (bottom >= this.height - this.room) {
        this.isAtEnd = index === this.total - 1 && bottom - (this.height - this.room) < 1;
        return;
      }
    }
    this.isAtEnd = true;
    this.#toEnd(heightAt);
  }

  #toEnd(heightAt) {
    if (this.total === 0) return this.#reset();
    let top = this.height - this.room;
    let index = this.total;
    while (top > 0 && index > 0) {
      index -= 1;
      top -= heightAt(index);
    }
    this.index = index;
    this.offset = Math.min(0, top);
    if (index === 0 && top > 0) this.offset = 0;
    return undefined;
  }

  #reset() {
    this.index = 0;
    this.offset = 0;
  }
}
