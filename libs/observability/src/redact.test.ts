import { redactText } from './redact.js';

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
