import type { AiMessage } from '@caribou/contracts';
import fc from 'fast-check';
import { callSetOf, stableKey } from './call-set.js';

type Args = Record<string, unknown>;
const key = (name: string, args: Args): string => stableKey({ name, args, id: 'c', type: 'tool_call' });
const asks = (...calls: readonly (readonly [string, Args | string])[]): AiMessage => ({
  type: 'ai',
  id: 'a',
  content: '',
  additional_kwargs: {},
  response_metadata: {},
  tool_calls: calls.flatMap(([name, args], at) =>
    typeof args === 'string' ? [] : [{ name, args, id: `c${at}`, type: 'tool_call' as const }],
  ),
  invalid_tool_calls: calls.flatMap(([name, args], at) =>
    typeof args === 'string' ? [{ name, args, id: `c${at}`, error: '', type: 'invalid_tool_call' as const }] : [],
  ),
});

describe(stableKey, () => {
  test.each<[string, string, readonly [Args, Args], boolean]>([
    [
      'lines of one bucket',
      'read_file',
      [
        { path: '/f', start_line: 1 },
        { path: '/f', start_line: 200 },
      ],
      true,
    ],
    [
      'lines of two buckets',
      'read_file',
      [
        { path: '/f', start_line: 200 },
        { path: '/f', start_line: 201 },
      ],
      false,
    ],
    [
      'another end',
      'read_file',
      [
        { path: '/f', end_line: 200 },
        { path: '/f', end_line: 201 },
      ],
      false,
    ],
    ['a bounded and an open end', 'read_file', [{ path: '/f', end_line: 9 }, { path: '/f' }], false],
    ['the first line said or not', 'read_file', [{ path: '/f', start_line: 1 }, { path: '/f' }], true],
    ['other files', 'read_file', [{ path: '/f' }, { path: '/g' }], false],
    ['other words for one read', 'read_file', [{ path: '/f', description: 'a' }, { path: '/f' }], true],
    [
      'another content',
      'write_file',
      [
        { path: '/f', content: 'a' },
        { path: '/f', content: 'b' },
      ],
      false,
    ],
    [
      'another edit',
      'str_replace',
      [
        { path: '/f', new_str: 'a' },
        { path: '/f', new_str: 'b' },
      ],
      false,
    ],
    ['other words for one command', 'bash', [{ command: 'ls', description: 'a' }, { command: 'ls' }], true],
    [
      'another pattern',
      'grep',
      [
        { path: '/', pattern: 'a' },
        { path: '/', pattern: 'b' },
      ],
      false,
    ],
    [
      'another glob',
      'glob',
      [
        { path: '/', glob: 'a' },
        { path: '/', glob: 'b' },
      ],
      false,
    ],
    ['another url', 'web_fetch', [{ url: 'a' }, { url: 'b' }], false],
    [
      'another query',
      'web_search',
      [
        { query: 'a', max: 1 },
        { query: 'b', max: 1 },
      ],
      false,
    ],
    ['another cmd', 'mcp_run', [{ cmd: 'a' }, { cmd: 'b' }], false],
    ['no field that tells', 'task', [{ prompt: 'a' }, { prompt: 'b' }], false],
    [
      'an empty field that would tell',
      'find',
      [
        { path: '', what: 'a' },
        { path: '', what: 'b' },
      ],
      false,
    ],
    [
      'another order of keys',
      'task',
      [
        { a: { x: 1, y: 2 }, b: [1] },
        { b: [1], a: { y: 2, x: 1 } },
      ],
      true,
    ],
  ])('%s', (_what, name, [one, other], same) => {
    expect(key(name, one) === key(name, other)).toBe(same);
  });
});

describe(callSetOf, () => {
  test('the order of the calls does not count, their tools and number do', () => {
    const one = asks(['bash', { command: 'a' }], ['ls', { path: '/' }]);
    const other = asks(['ls', { path: '/' }], ['bash', { command: 'a' }]);
    const hashes = [one, asks(['bash', { command: 'a' }]), asks(['ls', { command: 'a' }])].map(
      (message) => callSetOf(message).hash,
    );

    expect(callSetOf(other).hash).toBe(hashes[0]);
    expect(new Set(hashes).size).toBe(3);
    expect(callSetOf(asks(['ls', {}], ['ls', {}])).hash).not.toBe(callSetOf(asks(['ls', {}])).hash);
  });

  test('calls with unreadable arguments count by their text', () => {
    expect(callSetOf(asks(['bash', '{"a']))).toEqual(callSetOf(asks(['bash', '{"a'])));
    expect(callSetOf(asks(['bash', '{"a'])).hash).not.toBe(callSetOf(asks(['bash', '{"b'])).hash);
  });

  test('the fingerprint is short, whatever a model calls a tool', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.string(), fc.dictionary(fc.string(), fc.jsonValue()))), (calls) => {
        const { hash, tools } = callSetOf(asks(...calls));

        expect(hash).toMatch(/^[\w-]{8}$/);
        for (const tool of tools) expect(tool.key).toMatch(/^[\w-]{4}$/);
        expect(tools.reduce((sum, { count }) => sum + count, 0)).toBe(calls.length);
      }),
    );
  });
});
