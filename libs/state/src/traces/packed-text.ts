import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { BugError } from '@caribou/contracts';
import { compressTexts, expandText, type StoredText, toStoredText } from '../redis/stored-text.js';

/**
 * The stored form of the text of a step: as it is, or compressed. A short one, of which most traces consist, has the first byte 0xfe
 * and is raw deflate with the dictionary below; a longer one has the form of messages (redis/stored-text.ts).
 */
const PACKED = 0xfe;
const MIN_BYTES = 120;
/** Up to this size the work is done at once: some 30 µs. */
const MAX_PACKED_BYTES = 4 * 1024;

/**
 * What the texts of steps often have (step-text.ts), the most frequent last. It never changes, as stored texts need exactly this
 * dictionary: another one needs another first byte.
 */
const dictionary = Buffer.from(
  '"x":["ModelError","the model endpoint "],"q":{"s":"","t":"","p":{"reasoning_effort":"medium","temperature":0,"max_tokens":,' +
    '"thinking_enabled":true,"thinking_enabled":false}"y":"retry","y":"fallback","z":"error","z":"aborted","z":"unknown",' +
    '"z":"interrupted","s":"tool_calls","k":2,"e":0,"r":,"m":"bash","m":"read_file","m":"write_file","g":"call_"}],"t":[{"a":' +
    '"u":"api.anthropic.com/v1","u":"api.openai.com/v1","w":"middleware","h":[0.1,[["thread-context",1.,1],["title",1,1,"cut"],' +
    '["llm-error","x":"t","x":"m","o":{"n":1,"b":,"p":2,"c":[{"a":,"m":"gpt-","v":"gpt-5","u":"","f":,"d":,"i":,"o":,"s":"stop",' +
    '"g":"0","q":{"s":"","t":"","p":{"thinking_enabled":false},"l":["",[0,1]]}}],"h":[',
);

export async function packText(text: string): Promise<StoredText> {
  const plain = Buffer.from(text);
  if (plain.length < MIN_BYTES) return text;
  if (plain.length > MAX_PACKED_BYTES) return (await compressTexts([text]))[0] ?? text;
  const packed = deflateRawSync(plain, { dictionary, memLevel: 4, windowBits: 12, chunkSize: plain.length });
  return packed.length + 1 < plain.length ? Buffer.concat([Buffer.of(PACKED), packed]) : text;
}

/** @throws {BugError} for a form that this version does not know, or a damaged one */
export async function unpackText(stored: Buffer): Promise<string> {
  if (stored[0] !== PACKED) return await expandText(toStoredText(stored));
  try {
    return inflateRawSync(stored.subarray(1), { dictionary, maxOutputLength: MAX_PACKED_BYTES }).toString();
  } catch (error) {
    throw new BugError('the store holds a step of a trace that is damaged', { cause: error });
  }
}
