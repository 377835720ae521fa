import { isRecord } from '@caribou/contracts';
import { type Post, Refusal } from '../http/http-transport.js';
import { parseJson } from '../http/provider-text.js';

/**
 * Sends a body again without the thoughts of earlier answers when the endpoint refuses them. Signatures are bound to what the provider
 * sees of a conversation and its account, so that a change that is not seen here would make every request of a thread fail (pages
 * "Preserved thinking" and "Errors", platform.claude.com, November 2026).
 */
export const withoutRefusedThinking =
  (post: Post): Post =>
  (body, signal) =>
    post(body, signal).catch((error: unknown) => {
      if (!(error instanceof Refusal) || !isOfThinking(error)) throw error;
      const plain = withoutThinking(body);
      if (plain === undefined) throw error;
      return post(plain, signal);
    });

/** Texts such as "Invalid `signature` in `thinking` block" and "`thinking` or `redacted_thinking` blocks … cannot be modified". */
const isOfThinking = ({ status, body }: Refusal): boolean =>
  status === 400 && /thinking`? blocks?\b/.test(body) && /signature|`data`|cannot be modified/.test(body);

/** The same request without thoughts, and without a budget for new ones, which needs them; undefined when it has none. */
function withoutThinking(body: Buffer): Buffer | undefined {
  const request = parseJson(body.toString());
  if (!isRecord(request) || !Array.isArray(request['messages'])) return undefined;
  let removed = 0;
  const messages = request['messages'].map((message: unknown) => {
    if (!isRecord(message) || message['role'] !== 'assistant' || !Array.isArray(message['content'])) return message;
    const content = message['content'].filter((block: unknown) => !isThought(block));
    removed += message['content'].length - content.length;
    return { ...message, content };
  });
  if (removed === 0) return undefined;
  const { thinking, ...fields } = request;
  const hasBudget = isRecord(thinking) && thinking['type'] === 'enabled';
  return Buffer.from(
    JSON.stringify({ ...fields, ...(thinking === undefined || hasBudget ? {} : { thinking }), messages }),
  );
}

const isThought = (block: unknown): boolean =>
  isRecord(block) && (block['type'] === 'thinking' || block['type'] === 'redacted_thinking');
