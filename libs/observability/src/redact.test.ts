import fc from 'fast-check';
import { isClean, redact, redactText } from './redact.js';

describe(redactText, () => {
  test.each([
    ['a bearer header', 'sent BEARER abc.def-123', 'sent BEARER [redacted]'],
    ['basic credentials', 'Basic dXNlcjpwYXNz', 'Basic [redacted]'],
    ['a provider key', 'the key sk-12345678 is refused', 'the key [redacted] is refused'],
    ['a publishable and a restricted key', 'pk_12345678, rk-12345678', '[redacted], [redacted]'],
    ['a Slack token', 'xoxb-12345678', '[redacted]'],
    ['a GitHub token', 'ghp_12345678', '[redacted]'],
    ['a key of this API', 'cbu_aB3-_45678 and cbu_aB3-_45679', '[redacted] and [redacted]'],
    ['a GitLab token', 'glpat-12345678', '[redacted]'],
    ['a password in a URL', 'redis://user:pass@host:6379', 'redis://user:[redacted]@host:6379'],
  ])('hides %s', (_, text, shown) => {
    expect(redactText(text)).toBe(shown);
  });

  test.each(['9f2c6c1e-7d0c-4cf1-a2f0-f0b3e0c7b8a1', '/threads/a-1/runs', 'https://host/path', 'task-12345678'])(
    'leaves %s as it is',
    (text) => {
      expect(redactText(text)).toBe(text);
    },
  );

  test('cuts a long text', () => {
    expect(redactText('a'.repeat(9_000))).toBe(`${'a'.repeat(8_192)}…`);
  });
});

const texts = fc.constantFrom(
  ...[
    'Bearer abc.def-123',
    'sk-12345678',
    'GHP_12345678',
    'a://:b@',
    'https://host/path',
    'task-12345678',
    'ok',
    'a'.repeat(9_000),
  ],
);
const names = fc.constantFrom('apiKey', 'max_tokens', 'token', 'Cookie', 'model', 'toJSON', 'constructor');

class Named {
  constructor(readonly password: string) {}
}

/** Values as fields of log lines may have them, most of which `redact` changes. */
const values = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 6 },
    fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true, withTypedArray: true }),
    texts,
    fc.constant(new Named('secret')),
    fc.constant(() => 1),
    fc.array(tie('value')),
    fc.dictionary(fc.oneof(names, fc.string()), tie('value')),
  ),
})).value;

describe(isClean, () => {
  test('says so of no value whose JSON is another one once it is redacted', () => {
    fc.assert(
      fc.property(values, (value) => {
        if (isClean(value)) expect(JSON.stringify(value)).toBe(JSON.stringify(redact(value)));
      }),
      { numRuns: 2_000 },
    );
  });

  test('recognizes what lines mostly have', () => {
    const chain = [{ middleware: 'title', ms: 0.5, calls: 2, decisions: ['cut', 'cut ×2'] }];
    expect(
      [undefined, null, 5, true, 'POST', '/threads/:thread_id/runs/stream', chain].every((value) => isClean(value)),
    ).toBe(true);
  });

  test.each([
    ['a secret', 'Bearer abc.def-123'],
    ['a field with the name of a secret', { details: [{ api_key: 'x' }] }],
    ['a long text', 'a'.repeat(9_000)],
    ['a long list', Array.from({ length: 101 }, () => 1)],
    ['a depth of five', [[[[[1]]]]]],
    ['a value with a JSON of its own', { toJSON: () => 'x' }],
    ['an instance of a class', new Named('x')],
    ['a big integer', 5n],
  ])('not %s', (_, value) => {
    expect(isClean(value)).toBe(false);
  });
});
