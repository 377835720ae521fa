import { type Content, type Message, ownUsageOf } from '@caribou/contracts';

/**
 * English has about 4 bytes of UTF-8 per token; by bytes, Cyrillic counts twice and CJK three times as much per
 * character.
 */
const BYTES_PER_TOKEN = 4;
/** Role, separators and ids of a message (OpenAI cookbook: 3 to 4). */
const TOKENS_PER_MESSAGE = 4;
/** An image in full detail: OpenAI counts 765 for 1024 x 1024 pixels, Anthropic at most about 1600. */
const TOKENS_PER_IMAGE = 1000;

const tokensOf = (bytes: number): number => Math.ceil(bytes / BYTES_PER_TOKEN);

/** Maximum bytes of UTF-8 that count as `tokens`. */
export const bytesOfTokens = (tokens: number): number => tokens * BYTES_PER_TOKEN;

export const estimateTextTokens = (text: string): number => tokensOf(Buffer.byteLength(text));

/** Estimates the tokens of messages in a request: texts, calls with their arguments, images at a flat rate. */
export const estimateTokens = (messages: readonly Message[]): number =>
  messages.reduce((sum, message) => sum + estimateMessageTokens(message), 0);

export function estimateMessageTokens(message: Message): number {
  const { bytes, images } = sizeOf(message.content);
  return TOKENS_PER_MESSAGE + tokensOf(bytes + callBytes(message)) + images * TOKENS_PER_IMAGE;
}

/** Whether a block of a message's content is an image, whose token count does not depend on its data size. */
export const isImage = (block: { readonly type: string }): boolean => block.type.startsWith('image');

function sizeOf(content: Content): { readonly bytes: number; readonly images: number } {
  if (typeof content === 'string') return { bytes: Buffer.byteLength(content), images: 0 };
  let bytes = 0;
  let images = 0;
  for (const block of content) {
    if (typeof block === 'string') bytes += Buffer.byteLength(block);
    else if (isImage(block)) images += 1;
    else if (typeof block['text'] === 'string') bytes += Buffer.byteLength(block['text']);
  }
  return { bytes, images };
}

function callBytes(message: Message): number {
  if (message.type !== 'ai') return 0;
  const valid = message.tool_calls.map(({ name, args }) => name + JSON.stringify(args));
  const invalid = message.invalid_tool_calls.map(({ name, args }) => name + args);
  return [...valid, ...invalid].reduce((sum, text) => sum + Buffer.byteLength(text), 0);
}

export interface ContextShape {
  /** Tokens of every request in addition to the messages. */
  readonly additional?: number;
  /** Only the usage of answers after the message with this id is valid for these messages; absent: of all answers. */
  readonly countedAfter?: string | undefined;
}

/**
 * Estimates the tokens of the next request: the larger of the estimate of all messages and, if the provider reported
 * usage, the last answer's usage with the estimate of later messages. Reported usage includes the system prompt and the
 * tools; the estimate is used where a provider omits cached tokens or reports none. Usage from before messages were
 * removed is invalid: `countedAfter` is the border, and if it no longer exists only the estimate counts.
 */
export function contextTokens(
  messages: readonly Message[],
  { additional = 0, countedAfter }: ContextShape = {},
): number {
  const estimated = additional + estimateTokens(messages);
  const border = countedAfter === undefined ? -1 : messages.findIndex(({ id }) => id === countedAfter);
  if (countedAfter !== undefined && border < 0) return estimated;
  const at = messages.findLastIndex((message) => message.type === 'ai' && ownUsageOf(message) !== undefined);
  const answer = messages[at];
  const used = answer?.type === 'ai' ? ownUsageOf(answer) : undefined;
  if (at <= border || used === undefined) return estimated;
  const { input_tokens: input, output_tokens: output } = used;
  const counted = input + output + estimateTokens(messages.slice(at + 1));
  return counted > estimated ? counted : estimated;
}
