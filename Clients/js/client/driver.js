/**
 * Performs what the machine decides: opens and closes connections, sends, keeps time, and passes events on.
 * @module
 */

import { NestError } from '../wire/errors.js';
import { Machine } from '../machine/machine.js';
import { report } from './listeners.js';

/**
 * A connection that a transport makes. Only `opened` and `closed` of the newest connection count.
 * @typedef {object} Transport
 * @property {(bytes: Uint8Array[]) => void} send
 * @property {() => void} close
 * @property {(reads: boolean) => void} [setReading]
 * @property {number} [waiting] bytes that were not sent yet
 */

/**
 * @typedef {object} TransportEvents
 * @property {() => void} opened
 * @property {(bytes: Uint8Array) => void} received
 * @property {(error: any) => void} closed `error` says why, null if there is nothing to say
 */

/**
 * What a platform gives to a client.
 * @typedef {object} Platform
 * @property {(address: string, settings: any, events: TransportEvents) => Transport} open
 * @property {(count: number) => Uint8Array} randomBytes cryptographic
 * @property {any} unzstd what `unpacker` of unpack.js makes; null: the platform does not know Zstandard
 * @property {boolean} canPause whether a transport can stop to receive
 * @property {any} cluster machine/cluster.js; null: the client has one address, and cannot follow a leader
 * @property {boolean} followsLeader whether the client can connect to the addresses that nodes name
 * @property {(text: string) => string | null} readAddress
 */

/** The longest time of a timer; a longer one would end at once. */
export const TIMER_MS_MAX = 0x7fff_ffff;

/** Times of a clock that does not go back, in milliseconds. */
const now = () => performance.now();

export class Driver {
  /**
   * @param {Platform} platform
   * @param {any} settings
   * @param {import('../machine/machine.js').MachineOptions} options
   * @param {(event: any) => void} handle
   */
  constructor(platform, settings, options, handle) {
    this.platform = platform;
    this.settings = settings;
    this.handle = handle;
    this.machine = new Machine(options);
    /** @type {Transport | null} */
    this.transport = null;
    this.reads = true;
    /** @type {any} */
    this.timer = null;
    this.isPerforming = false;
    this.isAgain = false;
  }

  /**
   * Calls the machine, and performs what it decides.
   * @template T
   * @param {(machine: Machine, now: number) => T} body
   * @returns {T}
   */
  run(body) {
    const time = now();
    this.machine.now = time;
    const result = body(this.machine, time);
    this.perform();
    return result;
  }

  /**
   * The same for what no caller waits for: a mistake ends this client, not the program.
   * @param {(machine: Machine, now: number) => void} body
   */
  happened(body) {
    try {
      this.run(body);
    } catch (error) {
      const own = error instanceof NestError ? error : new NestError('INTERNAL', String(error));
      this.run((machine) => machine.giveUp(own));
    }
  }

  /** Events may lead to further calls of the machine: these are performed after the events before. */
  perform() {
    this.isAgain = true;
    if (this.isPerforming) return;
    this.isPerforming = true;
    try {
      while (this.isAgain) {
        this.isAgain = false;
        this.performOnce();
      }
    } finally {
      this.isPerforming = false;
    }
  }

  performOnce() {
    const output = this.machine.take();
    if (output.send.length > 0) this.transport?.send(output.send);
    if (output.close) {
      const transport = this.transport;
      this.transport = null;
      transport?.close();
    }
    if (output.connect !== null) this.open(output.connect);
    if (output.reads !== this.reads) {
      this.reads = output.reads;
      this.transport?.setReading?.(output.reads);
    }
    if (output.unpack) this.platform.unzstd.frame(this, output.unpack);
    for (const event of output.events) {
      try {
        this.handle(event);
      } catch (error) {
        report(error);
      }
    }
    clearTimeout(this.timer);
    this.timer = null;
    if (output.deadline !== null) {
      const expire = () => this.happened((machine, time) => machine.time(time));
      this.timer = setTimeout(expire, Math.min(Math.max(output.deadline - now(), 0), TIMER_MS_MAX));
    }
  }

  /** @param {string} address */
  open(address) {
    /** @type {Transport | null} */
    let transport = null;
    let isEarly = true;
    /** @param {() => void} body */
    const ifCurrent = (body) => {
      // A transport may fail before `open` returns.
      if (isEarly) queueMicrotask(() => ifCurrent(body));
      else if (transport !== null && this.transport === transport) body();
    };
    this.reads = true;
    try {
      transport = this.platform.open(address, this.settings, {
        opened: () => ifCurrent(() => this.happened((machine, time) => machine.connected(time))),
        received: (bytes) => ifCurrent(() => this.happened((machine, time) => machine.received(bytes, time))),
        closed: (error) => ifCurrent(() => {
          this.transport = null;
          this.happened((machine, time) => machine.lost(time, error));
        }),
      });
      this.transport = transport;
    } catch (error) {
      // A WebSocket or TLS refuses wrong options in its own way.
      const own = error instanceof NestError ? error : new NestError('UNREACHABLE', String(error));
      this.machine.lost(now(), own);
      this.isAgain = true;
    }
    isEarly = false;
  }
}
