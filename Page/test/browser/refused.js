// What the server refused a page: read from the frames of its WebSocket, as the debugger sees them.

import { FrameDecoder } from '../../../Clients/js/wire/frames.js';
import { decode, messageNames } from '../../../Clients/js/wire/messages.js';
import '../../../Clients/js/wire/opposite.js';

const BODY_MAX = 1 << 24;
const PREFACE_BYTES = 8;

/** A list that grows by each ERROR that a page gets over connections that begin from now on: `{ code, message }`. */
export function refusals(page) {
  const found = [];
  const sockets = new Map();
  page.on('Network.webSocketFrameReceived', ({ requestId, response: { opcode, payloadData } }) => {
    if (opcode !== 2) return;
    const socket = sockets.get(requestId) ?? { decoder: new FrameDecoder(BODY_MAX), skip: PREFACE_BYTES };
    sockets.set(requestId, socket);
    const bytes = new Uint8Array(Buffer.from(payloadData, 'base64'));
    const skipped = Math.min(socket.skip, bytes.length);
    socket.skip -= skipped;
    if (skipped < bytes.length) socket.decoder.push(bytes.subarray(skipped));
    for (let frame; (frame = socket.decoder.next());) {
      if (messageNames.get(frame.type) !== 'error') continue;
      const { code, message } = decode('error', frame.body);
      found.push({ code, message });
    }
  });
  return found;
}
