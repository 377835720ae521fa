import { plainText } from '../parts/plain-text.js';

const MAX_CHARS = 300;

/**
 * What an interrupt asks, in a line: the description or the calls of a decision, the text of a question, or else its JSON. Any
 * program may have made the value.
 */
export function summaryOf(value: unknown): string {
  if (typeof value === 'string') return plainText(value, MAX_CHARS);
  const requests = memberOf(value, 'action_requests');
  if (Array.isArray(requests)) return plainText(requests.map(describeCall).join('; '), MAX_CHARS);
  const question = memberOf(value, 'question');
  if (typeof question === 'string') return plainText(question, MAX_CHARS);
  return plainText(JSON.stringify(value) ?? '', MAX_CHARS);
}

function describeCall(request: unknown): string {
  const [description, name] = [memberOf(request, 'description'), memberOf(request, 'name')];
  if (typeof description === 'string' && description !== '') return description;
  return typeof name === 'string' ? name : JSON.stringify(request);
}

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;
