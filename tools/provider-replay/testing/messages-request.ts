import { omitUndefined } from '@caribou/contracts';
import { IssuedExtras } from '../framework/issued-extras.js';
import { Refusal } from '../framework/refusal.js';
import { anthropic } from '../vendors/anthropic/vendor.js';

export const anthropicVendor = anthropic.open({ extras: new IssuedExtras() });
const headers = {
  'x-api-key': 'k',
  'anthropic-version': '2023-06-01',
  'content-type': 'application/json',
};
export const hello = { role: 'user', content: 'hi' };
export const tool = { name: 'bash', input_schema: { type: 'object', properties: {} } };
export const use = (id: string) => ({ type: 'tool_use', id, name: 'bash', input: {} });
export const result = (id: string) => ({ type: 'tool_result', tool_use_id: id, content: 'ok' });
export const asks = (...ids: string[]) => ({ role: 'assistant', content: ids.map(use) });
export const answers = (...ids: string[]) => ({ role: 'user', content: ids.map(result) });
const base = { model: 'claude-opus-4-6', max_tokens: 2000, messages: [hello], tools: [tool] };
export const mark = { cache_control: { type: 'ephemeral' } };
export const text = (words: string, more: object = {}) => ({ type: 'text', text: words, ...more });
export const says = (...content: object[]) => ({ messages: [{ role: 'user', content }] });

/** Checks a request of the Messages API that has these fields besides the least there must be. */
export function checkMessages(body: object, more: Record<string, string | undefined> = {}): void {
  anthropicVendor.check({
    path: '/v1/messages',
    query: new URLSearchParams(),
    headers: omitUndefined({ ...headers, ...more }),
    body: { ...base, ...body },
  });
}

/** What Anthropic answers to a request that it refuses. */
export function refusalBy(run: () => void): { status: number; type: string; message: string } {
  try {
    run();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const body = error.answer.body as { type: string; error: { type: string; message: string }; request_id: string };
    expect(Object.keys(body)).toEqual(['type', 'error', 'request_id']);
    expect(body.type).toBe('error');
    return { status: error.answer.status, ...body.error };
  }
  throw new Error('the request was accepted');
}
