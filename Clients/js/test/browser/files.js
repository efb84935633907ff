// Serves the repository's files to a page, with the policy of `nestd --web`.

import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { join, normalize } from 'node:path';
import { root } from '../live/nestd.js';

const types = {
  html: 'text/html; charset=utf-8', js: 'text/javascript; charset=utf-8', css: 'text/css; charset=utf-8',
  json: 'application/json', svg: 'image/svg+xml',
};
const policy = "default-src 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'";

/** Starts the server on a free port. `more`: contents of paths that are not files, such as { '/page.html': '…' }. */
export async function serveFiles(more = {}) {
  const server = createServer(async (request, response) => {
    const path = decodeURIComponent(new URL(request.url, 'http://x').pathname);
    const file = join(root, normalize(path));
    const isFile = more[path] === undefined && await stat(file).then((found) => found.isFile(), () => false);
    if (more[path] === undefined && !isFile) return response.writeHead(404).end(`there is no ${path}`);
    response.writeHead(200, {
      'content-type': types[path.slice(path.lastIndexOf('.') + 1)] ?? 'application/octet-stream',
      'content-security-policy': policy, 'x-content-type-options': 'nosniff', 'cache-control': 'no-store',
    });
    return isFile ? createReadStream(file).pipe(response) : response.end(more[path]);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    close: () => { server.closeAllConnections(); server.close(); },
  };
}
