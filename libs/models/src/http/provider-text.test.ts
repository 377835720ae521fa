import { Secret } from '@caribou/config';
import { providerTextOf } from './provider-text.js';

const KEY = 'opaque0123456789';
const TEAM = 'team-password';
const textOf = providerTextOf({
  apiKey: new Secret(KEY),
  headers: { 'x-team': new Secret(`Custom ${TEAM}`) },
  baseUrl: 'http://models.example/v1',
});

describe(providerTextOf, () => {
  test('is the message of the error object, else the body, on one line', () => {
    expect(textOf(JSON.stringify({ error: { message: "Unsupported parameter:\n\t'temperature'" } }))).toBe(
      "Unsupported parameter: 'temperature'",
    );
    expect(textOf(JSON.stringify({ detail: 'no' }))).toBe('no');
    expect(textOf('<h1>Bad Gateway</h1>')).toBe('<h1>Bad Gateway</h1>');
    expect(textOf('')).toBeUndefined();
  });

  test('holds neither the key nor the configured headers, nor what looks like a secret', () => {
    const text = textOf(`key ${KEY}, team ${TEAM}, other sk-live1234567890, Bearer abcdefghijkl`);

    expect(text).toBe('key [redacted], team [redacted], other [redacted], Bearer [redacted]');
  });

  test('has at most 2 KiB, a secret at the cut included, and ends with a whole character', () => {
    const text = textOf(`${'ü'.repeat(1_020)}${KEY}${'ü'.repeat(1_000)}`) ?? '';

    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(2_048);
    expect(text).toMatch(/^ü{1020}\[re[^\ufffd]*…$/);
    expect(text).not.toContain(KEY.slice(0, 6));
  });
});
