import { isRecord } from '@caribou/contracts';
import { type Post, Refusal } from '../http/http-transport.js';
import { parseJson } from '../http/provider-text.js';

/**
 * Sends a body again without reasoning when the endpoint cannot decrypt it: encrypted content is bound to the organization of the
 * key (error `invalid_encrypted_content`, November 2026), so that another key would make every request of a thread fail.
 */
export const withoutUnverified =
  (post: Post): Post =>
  (body, signal) =>
    post(body, signal).catch((error: unknown) => {
      if (!(error instanceof Refusal) || !isUnverified(error)) throw error;
      return post(withoutReasoning(body), signal);
    });

const isUnverified = ({ status, body }: Refusal): boolean =>
  status === 400 && body.includes('invalid_encrypted_content');

/** Items that need no reasoning; those of tools of the provider are known by their ids. */
const plainTypes: ReadonlySet<unknown> = new Set(['message', 'function_call', 'function_call_output']);

/** The same request without reasoning, and without the ids that require it and the status that goes with them. */
function withoutReasoning(body: Buffer): Buffer {
  const request = parseJson(body.toString());
  if (!isRecord(request) || !Array.isArray(request['input'])) return body;
  const input = request['input']
    .filter(isRecord)
    .filter(({ type }) => plainTypes.has(type))
    .map(({ id: _id, status: _status, ...item }) => item);
  return Buffer.from(JSON.stringify({ ...request, input }));
}
