/**
 * TCP and TLS, for Node.
 * @module
 */

import net from 'node:net';
import tls from 'node:tls';
import { NestError } from '../wire/errors.js';
import { invalid } from '../client/options.js';
import { clearToken, isLocal } from '../client/token.js';

/** @typedef {import('../client/driver.js').TransportEvents} TransportEvents */
/** @typedef {import('../client/driver.js').Transport} Transport */

const DEFAULT_HOST = '127.0.0.1';
const DEFAULT_PORT = 7000;
const PORT_MAX = 65_535;

/**
 * Reads an address: HOST:PORT, HOST, :PORT or [IPv6]:PORT.
 * @param {string} text
 * @returns {string} HOST:PORT
 */
export function readAddress(text) {
  const [, bracketed, host, port] = /^(?:\[([0-9a-fA-F:.%\w]+)\]|([^:@/?#[\]\s]*))(?::([0-9]{1,5}))?$/.exec(text) ?? [];
  const name = bracketed ?? host;
  // The system would read a number as an IPv4 address: 7000 is 0.0.27.88.
  const isWrong = name === undefined || text === '' || /^[0-9]+$/.test(name) || (bracketed && !net.isIPv6(bracketed));
  const number = port === undefined ? DEFAULT_PORT : Number(port);
  if (isWrong || number < 1 || number > PORT_MAX) {
    invalid(`'${text}' is not the address of a server: write HOST:PORT, such as ${DEFAULT_HOST}:${DEFAULT_PORT}`);
  }
  return bracketed ? `[${bracketed}]:${number}` : `${name || DEFAULT_HOST}:${number}`;
}

/**
 * Reads a list of servers: `nest://a,b:7001,c/store`; with `nests://`, TLS for all of them.
 * @param {string} text
 * @returns {{ homes: string[], usesTLS: boolean, store: string | undefined }}
 */
export function readServers(text) {
  const [, scheme, list, store] = /^(?:(nests?|tcp|tls):\/\/)?([^/]*)(?:\/(.*))?$/i.exec(text)
    ?? invalid(`'${text}' is not a list of servers, such as nest://a.example,b.example:7001`);
  if (store && !scheme) invalid(`'${text}' has a store, but does not begin with nest:// or nests://`);
  const usesTLS = /^(nests|tls)$/i.test(scheme ?? '');
  return { homes: list.split(',').map(readAddress), usesTLS, store: store || undefined };
}

/** @param {string} address HOST:PORT */
function split(address) {
  const colon = address.lastIndexOf(':');
  return { host: address.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(address.slice(colon + 1)) };
}

/**
 * @param {string} address
 * @param {any} settings `tls`: true, or options of node:tls such as `ca`
 * @param {TransportEvents} events
 * @returns {Transport}
 */
export function openTCP(address, settings, events) {
  const { host, port } = split(address);
  const options = { host, port, noDelay: true, ...(net.isIP(host) ? {} : { servername: host }) };
  const socket = settings.tls ? tls.connect({ ...options, ...settings.tls }) : net.connect(options);
  let isOpen = false;
  let isOver = false;
  /** @param {any} error */
  const end = (error) => {
    if (isOver) return;
    isOver = true;
    socket.destroy();
    events.closed(error);
  };
  socket.on(settings.tls ? 'secureConnect' : 'connect', () => {
    isOpen = true;
    const isReadable = !settings.tls && !isLocal(socket.remoteAddress ?? '');
    if (settings.token && isReadable && !settings.sendsTokenInClear) return end(clearToken(address));
    if (!isOver) events.opened();
  });
  // A Buffer is no plain Uint8Array: its `slice` copies nothing.
  socket.on('data', (/** @type {Uint8Array} */ { buffer, byteOffset, length }) => {
    if (!isOver) events.received(new Uint8Array(buffer, byteOffset, length));
  });
  socket.on('error', (/** @type {any} */ error) => end(faultOf(error, address, isOpen)));
  socket.on('close', () => end(null));
  return {
    send(frames) {
      socket.cork();
      for (const frame of frames) socket.write(frame);
      socket.uncork();
    },
    close() {
      isOver = true;
      // What was sent last still goes out; a peer that does not answer holds nothing.
      socket.end(() => socket.destroy());
      socket.unref();
    },
    setReading(reads) {
      if (reads) socket.resume();
      else socket.pause();
    },
    get waiting() {
      return socket.writableLength;
    },
  };
}

/** Codes of OpenSSL and Node for a certificate that proves nothing. */
const CERTIFICATE = /CERT|SELF_SIGNED|UNABLE_TO|ERR_TLS|HOSTNAME/;

/** @param {any} error @param {string} address @param {boolean} isOpen */
function faultOf(error, address, isOpen) {
  if (isOpen) return new NestError('CONNECTION_LOST', `the connection to ${address} is lost: ${error.message}`);
  const code = CERTIFICATE.test(error.code ?? '') ? 'UNTRUSTED' : 'UNREACHABLE';
  return new NestError(code, `cannot connect to ${address}: ${error.message || error.code}`);
}
