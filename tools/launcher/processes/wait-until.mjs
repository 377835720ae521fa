import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const pauseMs = 50;

/**
 * Polls until the condition is true. A check that fails counts as false.
 *
 * @param {() => Promise<boolean>} condition
 * @param {AbortSignal} signal ends the polling by rejecting
 */
export async function waitUntil(condition, signal) {
  while (!(await condition().catch(() => false))) await delay(pauseMs, undefined, { signal });
}

/**
 * Connects, sends the request and waits until the answer holds the expected text.
 *
 * @param {{ port: number, request: string, expected: string }} talk port on 127.0.0.1; the request may be empty
 * @returns {Promise<boolean>} false when the server closes or does not answer for a second
 */
export function answersWith({ port, request, expected }) {
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = connect({ port, host: '127.0.0.1', timeout: 1000 }, () => socket.write(request));
    socket.on('data', (data) => {
      answer += data.toString('utf8');
      if (answer.includes(expected) || answer.length > 65_536) socket.destroy();
    });
    socket.once('timeout', () => socket.destroy());
    socket.once('error', reject);
    socket.once('close', () => resolve(answer.includes(expected)));
  });
}
