import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const pauseMs = 50;

/**
 * Asks until the answer is yes. A question that fails counts as no.
 *
 * @param {() => Promise<boolean>} question
 * @param {AbortSignal} signal ends the asking by rejecting
 */
export async function waitUntil(question, signal) {
  while (!(await question().catch(() => false))) await delay(pauseMs, undefined, { signal });
}

/**
 * Connects, sends the request and waits until the answer holds the expected text.
 *
 * @param {{ port: number, request: string, expected: string }} talk port on 127.0.0.1; the request may be empty
 * @returns {Promise<boolean>} false when the server closes or says nothing for a second
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
