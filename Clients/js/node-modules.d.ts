// The modules of Node that the library imports, for checking without the types of Node, which Debian does not install
// with tsc. What they export is not checked.

declare module 'node:crypto';
declare module 'node:fs';
declare module 'node:net';
declare module 'node:tls';
declare module 'node:zlib';
