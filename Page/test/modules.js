// Makes `/client/…` in a module of the page what it is in a browser: the files of Clients/js. Modules that import it
// are loaded with `await import(…)` after this one.

import { register } from 'node:module';

const client = new URL('../../Clients/js/', import.meta.url).href;

register(`data:text/javascript,${encodeURIComponent(`
  export const resolve = (name, context, next) =>
    next(name.startsWith('/client/') ? ${JSON.stringify(client)} + name.slice('/client/'.length) : name, context);
`)}`);
