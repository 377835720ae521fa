import { McpOAuth } from '@caribou/contracts';
import { type Clock, systemClock, type TokenRecords } from '@caribou/core';
import { redisTokenRecords } from '@caribou/state';
import { startTokenServer, type StoreFixture, type TokenServer, useStore } from '@caribou/testing';
import { AccessTokens } from './access-tokens.js';

let store: StoreFixture;
let records: TokenRecords;
let server: TokenServer | undefined;
let nowMs: number;

useStore((opened) => {
  store = opened;
  records = redisTokenRecords(store.redis);
  nowMs = 1_000_000;
});
afterEach(async () => {
  await server?.close();
  server = undefined;
});

const clock: Clock = { ...systemClock, now: () => nowMs };
/** A process of its own: it shares the records and nothing else. */
const tokensOf = (oauth: Record<string, unknown> = {}): AccessTokens => {
  const full = McpOAuth.parse({ token_url: server?.url, client_id: 'id', client_secret: 's3cret', ...oauth });
  return new AccessTokens(full, { records, fetch, clock });
};
/** A token server that numbers its tokens. */
const numbered = async (more: Record<string, unknown> = { expires_in: 3_600 }): Promise<void> => {
  server = await startTokenServer((_, count) => ({ body: { access_token: `token-${count}`, ...more } }));
};
const forms = () => server?.forms ?? [];

describe(AccessTokens, () => {
  test('a token is requested with a form, and used until the skew before its expiry', async () => {
    await numbered();
    const tokens = tokensOf({ scope: 'mcp.read', audience: 'me', extra_token_params: { tenant: 't' } });

    expect(await tokens.authorization()).toBe('Bearer token-1');
    nowMs += 3_539_000;
    expect(await tokens.authorization()).toBe('Bearer token-1');
    nowMs += 1_000;
    expect(await tokens.authorization()).toBe('Bearer token-2');
    expect(forms()[0]).toEqual({
      grant_type: 'client_credentials',
      client_id: 'id',
      client_secret: 's3cret',
      scope: 'mcp.read',
      audience: 'me',
      tenant: 't',
    });
  });

  test('fields of the answer may have other names, and a token without an expiry is used for an hour', async () => {
    server = await startTokenServer(() => ({ body: { jwt: 'x', kind: 'Token', life: '120' } }));
    const fields = { token_field: 'jwt', token_type_field: 'kind', expires_in_field: 'life' };
    const tokens = tokensOf(fields);
    expect(await tokens.authorization()).toBe('Token x');
    nowMs += 60_000;
    await tokens.authorization();
    expect(forms()).toHaveLength(2);

    const endless = tokensOf({ token_field: 'jwt', client_id: 'other' });
    await endless.authorization();
    nowMs += 3_539_000;
    expect(await endless.authorization()).toBe('Bearer x');
    expect(forms()).toHaveLength(3);
  });

  test('a token whose lifetime is shorter than the skew is not fetched for each request', async () => {
    await numbered({ expires_in: 30 });
    const tokens = tokensOf();
    await tokens.authorization();
    nowMs += 14_000;
    expect(await tokens.authorization()).toBe('Bearer token-1');
    nowMs += 1_000;
    expect(await tokens.authorization()).toBe('Bearer token-2');
  });

  test('many requests of many processes fetch one token', async () => {
    await numbered();
    const processes = [tokensOf(), tokensOf(), tokensOf()];
    const all = await Promise.all([...processes, ...processes].map((tokens) => tokens.authorization()));

    expect(new Set(all)).toEqual(new Set(['Bearer token-1']));
    expect(forms()).toHaveLength(1);
  });

  test('a token that was refused is replaced once for all', async () => {
    await numbered();
    const [one, two] = [tokensOf(), tokensOf()];
    const refused = await one.authorization();
    await two.authorization();

    expect(await one.authorization(refused)).toBe('Bearer token-2');
    expect(await two.authorization(refused)).toBe('Bearer token-2');
    expect(forms()).toHaveLength(2);
  });

  test('a refresh token that the server replaces is replaced for every process', async () => {
    server = await startTokenServer(({ refresh_token: used }, count) =>
      used === (count === 1 ? 'first' : `rotated-${count - 1}`)
        ? { body: { access_token: `token-${count}`, expires_in: 100, refresh_token: `rotated-${count}` } }
        : { status: 400, body: { error: 'invalid_grant' } },
    );
    const oauth = { grant_type: 'refresh_token', refresh_token: 'first' };
    for (const count of [1, 2, 3]) {
      expect(await tokensOf(oauth).authorization()).toBe(`Bearer token-${count}`);
      nowMs += 100_000;
    }
    expect(forms().map((form) => form['refresh_token'])).toEqual(['first', 'rotated-1', 'rotated-2']);
  });

  test('a server that does not replace its refresh token gets the same again, and one that forgot gets the first', async () => {
    server = await startTokenServer(({ refresh_token: used }, count) => {
      if (count === 4) return { status: 400, body: {} };
      return { body: { access_token: `token-${count}`, ...(count === 2 ? { refresh_token: 'rotated' } : {}), used } };
    });
    const tokens = tokensOf({ grant_type: 'refresh_token', refresh_token: 'first' });
    let last: string | undefined;
    for (let round = 0; round < 4; round += 1) last = await tokens.authorization(last);

    expect(forms().map((form) => form['refresh_token'])).toEqual(['first', 'first', 'rotated', 'rotated', 'first']);
  });

  test.each<[string, { status?: number; body: unknown }, string]>([
    ['a refusal', { status: 401, body: { error: 's3cret is wrong' } }, 'the token server answered 401'],
    ['an answer without a token', { body: { token: 'x' } }, 'the answer of the token server has no "access_token"'],
    [
      'a token that is no header',
      { body: { access_token: 'a\r\nb' } },
      'the answer of the token server has no "access_token"',
    ],
  ])(
    '%s is reported without any text of request or answer, and the next attempt may follow at once',
    async (_, answer, text) => {
      server = await startTokenServer((_form, count) => (count === 1 ? answer : { body: { access_token: 'good' } }));
      const tokens = tokensOf();

      await expect(tokens.authorization()).rejects.toThrow(text);
      expect(await tokens.authorization()).toBe('Bearer good');
    },
  );
});
