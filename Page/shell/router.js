// Addresses: the first name of the path is a page, and the rest is that page's own.

/**
 * Calls `show(name, rest)` for the address when it is started, and for each later one. A link to another page does not
 * load anew.
 */
export class Router {
  #show;

  constructor(show) {
    this.#show = show;
  }

  /** Shows the page of the address, now and when it changes. */
  start() {
    addEventListener('popstate', () => this.read());
    addEventListener('click', (event) => this.#clicked(event));
    this.read();
  }

  /** Goes to an address of this server. `replace`: as a better name of where one is. */
  go(path, { replace = false } = {}) {
    if (path === location.pathname + location.search) return;
    history[replace ? 'replaceState' : 'pushState'](null, '', path);
    this.read();
  }

  /** Names where one is, without showing it anew. */
  name(path) {
    history.replaceState(null, '', path);
  }

  /** Shows the page of the address, again. */
  read() {
    const [name = '', ...rest] = location.pathname.split('/').slice(1).map(decode);
    this.#show(name || 'outline', rest.filter((part) => part !== ''));
  }

  #clicked(event) {
    const link = event.target instanceof Element ? event.target.closest('a[href]') : null;
    if (!link || event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey) return;
    if (link.target || link.hasAttribute('download') || link.origin !== location.origin || link.hash) return;
    event.preventDefault();
    this.go(link.pathname + link.search);
  }
}

/** A part of a path that is no text stays as it is. */
function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
