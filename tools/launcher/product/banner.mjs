import { randomUUID } from 'node:crypto';
import { bold, dim } from '../processes/terminal.mjs';

/**
 * Builds the text that is printed once everything runs.
 *
 * @param {object} facts
 * @param {string} facts.url
 * @param {string} facts.model
 * @param {string} facts.home
 * @param {boolean} facts.locked requests need an API key
 * @param {string[]} facts.servers
 * @param {string[]} facts.services
 */
export function banner({ url, model, home, locked, servers, services }) {
  const threadId = randomUUID();
  const body = {
    assistant_id: 'lead_agent',
    if_not_exists: 'create',
    stream_mode: ['messages-tuple', 'values'],
    input: {
      messages: [{ role: 'user', content: 'Write a small program that lists the primes up to 50, and run it.' }],
    },
  };
  const key = locked ? ["  -H 'X-Api-Key: <one of CARIBOU_API_KEYS>' \\"] : [];
  /** @param {string} label @param {string} text */
  const row = (label, text) => `  ${dim(label.padEnd(10))}${text}`;
  return [
    '',
    `${bold('Caribou is ready')}: ${bold(url)}`,
    '',
    row('console', `${url}   (in a browser)`),
    row('api', `${url}/docs   (health: ${url}/ready)`),
    row('model', model),
    row('data', home),
    ...servers.map((text, index) => row(index === 0 ? 'servers' : '', text)),
    ...services.map((text, index) => row(index === 0 ? 'services' : '', text)),
    '',
    'Try it:',
    '',
    `curl -N ${url}/api/langgraph/threads/${threadId}/runs/stream \\`,
    "  -H 'Content-Type: application/json' \\",
    ...key,
    `  -d '${JSON.stringify(body)}'`,
    '',
    `and then: curl ${url}/api/langgraph/threads/${threadId}/state`,
    '',
    'Ctrl-C stops everything.',
    '',
  ].join('\n');
}

/** How a browser on this machine reaches a server that listens on `host`. @param {string} host @param {number} port */
export function urlOf(host, port) {
  const reachable = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}
