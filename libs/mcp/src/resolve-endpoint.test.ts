import { McpOAuth } from '@caribou/contracts';
import { resolveEndpoint, describeFailure } from './resolve-endpoint.js';

const variables: Readonly<Record<string, string>> = {
  TOKEN: 'the-token',
  URL: 'https://a.example.org/mcp',
  SHORT: 'a',
};
const variable = (name: string): string | undefined => variables[name];

describe(resolveEndpoint, () => {
  test('references to variables are replaced at any depth; other texts and unset variables are not', () => {
    const oauth = McpOAuth.parse({
      token_url: 'https://t',
      client_secret: '$TOKEN',
      extra_token_params: { a: '$SHORT' },
    });
    const headers = { A: '$TOKEN', B: 'Bearer $TOKEN', C: '$NONE', D: '$', E: '$1' };
    const { endpoint, missing } = resolveEndpoint({ kind: 'http', url: '$URL', headers, oauth }, variable);

    expect(endpoint).toMatchObject({
      url: 'https://a.example.org/mcp',
      headers: { A: 'the-token', B: 'Bearer $TOKEN', C: '', D: '$', E: '$1' },
      oauth: { client_secret: 'the-token', extra_token_params: { a: 'a' } },
    });
    expect(missing).toEqual(['NONE']);
  });

  test('of a program too', () => {
    const stdio = {
      kind: 'stdio',
      command: 'x',
      args: ['--key', '$TOKEN'],
      env: { A: '$SHORT', B: 'literal' },
    } as const;
    const { endpoint, secrets } = resolveEndpoint(stdio, variable);

    expect(endpoint).toEqual({ ...stdio, args: ['--key', 'the-token'], env: { A: 'a', B: 'literal' } });
    expect([...secrets].sort()).toEqual(['literal', 'the-token']);
  });

  test.each(['$TOKEN', '$NONE'])('a variable that holds no URL (%s) is refused without its value', (url) => {
    expect(() => resolveEndpoint({ kind: 'http', url, headers: {} }, variable)).toThrow('url: must be an http(s) URL');
  });
});

describe(describeFailure, () => {
  test('secrets are left out, of causes as well, and the text is one short line', () => {
    const error = new Error('spawn the-token\nENOENT', { cause: new Error(`at the-token ${'x'.repeat(600)}`) });

    const text = describeFailure(error, ['the-token']);
    expect(text).toMatch(/^spawn \[secret\] ENOENT \(at \[secret\] x+$/);
    expect(text).toHaveLength(500);
  });
});
