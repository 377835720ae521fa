import { isRecord } from '@caribou/contracts';
import type { ModelConfig } from '@caribou/config';
import { redactText } from '@caribou/observability';

/** Limit of the provider's text in an error. */
const MAX_BYTES = 2_048;
/** Shorter values are not redacted, because that would remove ordinary text. */
const MIN_SECRET_CHARS = 6;
const HIDDEN = '[redacted]';

/** Extracts the provider's text about a failure, without secrets; undefined when there is none. */
export type ProviderText = (body: string) => string | undefined;

/**
 * Creates the extractor for a model's provider. The text is the message of the error object, else the body, on one line.
 * The configured key and headers are redacted everywhere, and so is what looks like a secret.
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
  const parsed = objectIn(body);
  if (parsed === undefined) return body;
  const error = isRecord(parsed['error']) ? parsed['error'] : parsed;
  const found = [error['message'], parsed['error'], parsed['detail']].find((value) => typeof value === 'string');
  return typeof found === 'string' ? found : body;
}

/** The object of a JSON text; Gemini sends it in a list. */
export function objectIn(body: string): Readonly<Record<string, unknown>> | undefined {
  const parsed = parseJson(body);
  const found: unknown = Array.isArray(parsed) ? parsed[0] : parsed;
  return isRecord(found) ? found : undefined;
}

function cut(text: string): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= MAX_BYTES) return text;
  const end = '…';
  return bytes.toString('utf8', 0, MAX_BYTES - Buffer.byteLength(end)).replace(/\ufffd+$/, '') + end;
}

/** Parses a JSON text; returns undefined when it is not valid. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
