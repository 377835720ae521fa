import type { FastifyReply } from 'fastify';
import { addQuota, addRateLimit } from './rate-limit-headers.js';

/** An answer that has headers only. */
function emptyReply(): { readonly reply: FastifyReply; readonly headers: ReadonlyMap<string, string> } {
  const headers = new Map<string, string>();
  const reply = {
    getHeader: (name: string) => headers.get(name),
    header: (name: string, value: string) => headers.set(name, value),
  };
  return { reply: reply as unknown as FastifyReply, headers };
}

describe(addRateLimit, () => {
  test('limits follow each other in both lists', () => {
    const { reply, headers } = emptyReply();

    addRateLimit(reply, { policy: 'user', quota: 60, windowSeconds: 6, remaining: 59, resetSeconds: 1 });
    addQuota(reply, { quota: 'runs', limit: 8, used: 9 });

    expect(headers.get('ratelimit-policy')).toBe('"user";q=60;w=6, "runs";q=8;qu="concurrent-requests"');
    expect(headers.get('ratelimit')).toBe('"user";r=59;t=1, "runs";r=0');
  });

  test.each([
    ['alone', []],
    ['between others', ['key', 'run']],
  ])('a limit that is there already is replaced: %s', (_where, others) => {
    const { reply, headers } = emptyReply();
    for (const policy of ['user', ...others]) addRateLimit(reply, { policy, quota: 60, remaining: 3 });

    addRateLimit(reply, { policy: 'user', quota: 60, remaining: 2 });

    expect(headers.get('ratelimit')).toBe([...others.map((policy) => `"${policy}";r=3, `), '"user";r=2'].join(''));
  });
});
