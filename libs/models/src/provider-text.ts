import type { ModelConfig } from '@caribou/config';
import { redactText } from '@caribou/observability';
import { isRecord } from './narrow.js';

/** Bytes of a provider's text that an error carries. */
const MAX_BYTES = 2_048;
/** Shorter ones are no secrets: hiding them would blot out ordinary text. */
const MIN_SECRET_CHARS = 6;
const HIDDEN = '[redacted]';

/** The text that a provider wrote about a failure, without secrets; undefined when it wrote none. */
export type ProviderText = (body: string) => string | undefined;

/**
 * Reads what the provider of a model says: the message of its error object, else the body, on one line. The key and
 * headers that are configured are hidden wherever they occur, and so is what looks like a secret.
 */
export function providerTextOf({ apiKey, headers, baseUrl }: SecretsOf): ProviderText {
  const { password } = new URL(baseUrl);
  const secrets = [apiKey?.reveal() ?? '', ...Object.values(headers).map((value) => value.reveal()), password]
    .flatMap((secret) => [
      secret,
      ...secret.split(/\s+/),
      JSON.stringify(secret).slice(1, -1),
      encodeURIComponent(secret),
    ])
    .filter((secret) => secret.length >= MIN_SECRET_CHARS)
    .sort((one, other) => other.length - one.length);
  return (body) => {
    const plain = messageOf(body).replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ');
    const text = redactText(secrets.reduce((seen, secret) => seen.replaceAll(secret, HIDDEN), plain)).trim();
    return text === '' ? undefined : cut(text);
  };
}

type SecretsOf = Pick<ModelConfig, 'apiKey' | 'headers' | 'baseUrl'>;

function messageOf(body: string): string {
  const parsed = parseJson(body);
  if (!isRecord(parsed)) return body;
  const error = isRecord(parsed['error']) ? parsed['error'] : parsed;
  const found = [error['message'], parsed['error'], parsed['detail']].find((value) => typeof value === 'string');
  return typeof found === 'string' ? found : body;
}

function cut(text: string): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= MAX_BYTES) return text;
  const end = '…';
  return bytes.toString('utf8', 0, MAX_BYTES - Buffer.byteLength(end)).replace(/\ufffd+$/, '') + end;
}

/** The value of a JSON text; undefined for what is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
