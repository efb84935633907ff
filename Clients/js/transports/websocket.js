/**
 * The byte stream of the protocol in WebSocket messages, whose boundaries mean nothing.
 * @module
 */

import { NestError } from '../wire/errors.js';
import { invalid } from '../client/options.js';

/** @typedef {import('../client/driver.js').TransportEvents} TransportEvents */
/** @typedef {import('../client/driver.js').Transport} Transport */

const SUBPROTOCOL = 'nest.1';
/** The path of a server, if the address has none. */
const PATH = '/nest';
/** The largest message that a server accepts. */
const MESSAGE_BYTES_MAX = 65_536;
/** Browsers let a page close a WebSocket only with this code, or with one of its own. */
const CLOSE_NORMAL = 1000;

/**
 * @param {string} text `wss://HOST/nest`; also `https://`; in a page also a path
 * @returns {string} the address in one form
 */
export function readURL(text) {
  const base = /** @type {any} */ (globalThis).location?.href;
  let url;
  try {
    url = new URL(text, base);
  } catch {
    return invalid(`'${text}' is not the address of a server, such as wss://example.org/nest`);
  }
  url.protocol = url.protocol.replace(/^http/, 'ws');
  if (url.protocol !== 'ws:' && url.protocol !== 'wss:') invalid(`'${text}' begins with neither ws:// nor wss://`);
  if (url.pathname === '/') url.pathname = PATH;
  url.hash = '';
  return url.href;
}

/**
 * @param {string} address
 * @param {any} settings
 * @param {TransportEvents} events
 * @returns {Transport}
 */
export function openWebSocket(address, settings, events) {
  const { protocol, hostname } = new URL(address);
  const isReadable = protocol === 'ws:' && !settings.sendsTokenInClear;
  if (isReadable) settings.checkClear?.(address, hostname.replace(/^\[|\]$/g, ''));
  const Socket = settings.WebSocket ?? globalThis.WebSocket;
  if (!Socket) throw new NestError('UNREACHABLE', 'there is no WebSocket: use nest://HOST:PORT');
  const socket = new Socket(address, SUBPROTOCOL);
  socket.binaryType = 'arraybuffer';
  let isOpen = false;
  let isOver = false;
  /** @param {any} error */
  const end = (error) => {
    if (isOver) return;
    close();
    events.closed(error);
  };
  const close = () => {
    isOver = true;
    socket.close(CLOSE_NORMAL);
  };
  socket.onopen = () => {
    isOpen = true;
    if (socket.protocol !== SUBPROTOCOL) {
      return end(new NestError('PROTOCOL', `${address} does not speak ${SUBPROTOCOL}`));
    }
    if (!isOver) events.opened();
  };
  socket.onmessage = (/** @type {MessageEvent} */ { data }) => {
    if (isOver) return;
    if (typeof data === 'string') return end(new NestError('PROTOCOL', `${address} sends text`));
    events.received(new Uint8Array(data));
  };
  // The close event follows, and says as much.
  socket.onerror = () => {};
  socket.onclose = (/** @type {CloseEvent} */ { code, reason }) => {
    const text = `${code}${reason ? ` ${reason}` : ''}`;
    end(isOpen
      ? new NestError('CONNECTION_LOST', `the server closed the connection (${text})`)
      : new NestError('UNREACHABLE', `cannot connect to ${address} (${text})`));
  };
  return {
    send(frames) {
      for (const message of messages(frames)) socket.send(message);
    },
    close,
    get waiting() {
      return socket.bufferedAmount;
    },
  };
}

/**
 * Joins frames, and cuts the bytes into messages that the server accepts.
 * @param {Uint8Array[]} frames
 * @returns {Uint8Array[]}
 */
export function messages(frames) {
  const all = new Uint8Array(frames.reduce((sum, { length }) => sum + length, 0));
  let end = 0;
  for (const frame of frames) {
    all.set(frame, end);
    end += frame.length;
  }
  const cut = [];
  for (let at = 0; at < end; at += MESSAGE_BYTES_MAX) cut.push(all.subarray(at, at + MESSAGE_BYTES_MAX));
  return cut;
}
