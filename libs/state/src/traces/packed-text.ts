import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { BugError } from '@caribou/contracts';
import { compressTexts, expandText, type StoredText, toStoredText } from '../redis/stored-text.js';
import { stepPhrases } from './phrases.js';

/**
 * The stored form of the text of a step: as it is, or with a first byte that no text in UTF-8 has:
 *
 *   0xfd   abbreviated (phrases.ts): a short text, of which most traces consist
 *   0xfe   raw deflate with the dictionary below
 *   0xff   a longer one, in the form of messages (redis/stored-text.ts)
 */
const ABBREVIATED = 0xfd;
const DEFLATED = 0xfe;
const MIN_BYTES = 120;
const MAX_ABBREVIATED_BYTES = 1_024;
/** Up to this size the work is done at once: some 30 µs. */
const MAX_DEFLATED_BYTES = 4 * 1024;

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
  if (text.length < MIN_BYTES) return text;
  if (text.length <= MAX_ABBREVIATED_BYTES) return withFirst(ABBREVIATED, Buffer.from(stepPhrases.abbreviate(text)));
  const plain = Buffer.from(text);
  if (plain.length > MAX_DEFLATED_BYTES) return (await compressTexts([text]))[0] ?? text;
  const packed = deflateRawSync(plain, { dictionary, memLevel: 4, windowBits: 12, chunkSize: plain.length });
  return packed.length + 1 < plain.length ? withFirst(DEFLATED, packed) : text;
}

const withFirst = (byte: number, form: Buffer): Buffer => Buffer.concat([Buffer.of(byte), form]);

/** @throws {BugError} for a form that this version does not know, or a damaged one */
export async function unpackText(stored: Buffer): Promise<string> {
  if (stored[0] === ABBREVIATED) return stepPhrases.expand(stored.subarray(1).toString());
  if (stored[0] !== DEFLATED) return await expandText(toStoredText(stored));
  try {
    return inflateRawSync(stored.subarray(1), { dictionary, maxOutputLength: MAX_DEFLATED_BYTES }).toString();
  } catch (error) {
    throw new BugError('the store holds a step of a trace that is damaged', { cause: error });
  }
}
