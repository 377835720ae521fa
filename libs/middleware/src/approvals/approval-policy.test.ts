import { ApprovalRule, ApprovalTerms, callHashOf, type ToolCall } from '@caribou/contracts';
import { findRequiredApproval } from './approval-policy.js';
import { shownArgs } from './shown-args.js';

const terms = ApprovalTerms.parse({});
const rule = (given: object): ApprovalRule => ApprovalRule.parse({ id: 'a-rule', ...given });
const callOf = (name: string, args: ToolCall['args']): ToolCall => ({ name, args, id: 'call_1', type: 'tool_call' });

test('several rules together: the strictest of each term', () => {
  const one = { expires_after_seconds: 60, on_expiry: 'approve', allowed_decisions: ['approve', 'reject'] };
  const two = { decider: 'admin', expires_after_seconds: 30, allowed_decisions: ['edit', 'reject'] };
  const rules = [rule({ id: 'one', tools: ['bank_*'], ...one }), rule({ id: 'two', tools: ['*pay'], ...two })];
  const required = findRequiredApproval({ call: callOf('bank_pay', {}) }, { terms, rules });
  expect(required).toEqual({
    rules: ['one', 'two'],
    message: 'the rule one asks for this; the rule two asks for this',
    decider: 'admin',
    allowedDecisions: ['reject'],
    expiresAfterMs: 30_000,
    onExpiry: 'reject',
  });
});

test('the hash of a call depends on everything that is executed, and not on the order of keys', () => {
  const call = callOf('pay', { to: 'bob', deep: { a: [1, { x: 1, y: 2 }], b: null } });
  const hash = callHashOf('t', call);
  expect(hash).toMatch(/^[0-9a-f]{64}$/);
  expect(callHashOf('t', callOf('pay', { deep: { b: null, a: [1, { y: 2, x: 1 }] }, to: 'bob' }))).toBe(hash);
  const others = [
    callHashOf('u', call),
    callHashOf('t', { ...call, id: 'call_2' }),
    callHashOf('t', { ...call, name: 'play' }),
    callHashOf('t', callOf('pay', { to: 'bob', deep: { a: [1, { x: 1, y: 3 }], b: null } })),
    callHashOf('t', callOf('pay', { to: 'bob', deep: { a: [{ x: 1, y: 2 }, 1], b: null } })),
    callHashOf('t', callOf('pay', { to: 'bob', deep: { a: ['1', { x: 1, y: 2 }], b: null } })),
  ];
  expect(new Set([hash, ...others]).size).toBe(others.length + 1);
});

test.each([
  [{ text: 'x'.repeat(100_000) }, { text: `${'x'.repeat(4_000)}… (96000 more characters)` }],
  [{ list: Array(1_000).fill('y'.repeat(300)) }, { note: expect.stringContaining('too many to show') }],
  [{ smile: `${'x'.repeat(3_999)}😀${'z'.repeat(30_000)}` }, { smile: expect.stringMatching(/^x{3999}… \(/) }],
])('%#: arguments that are too long are shown cut', (args, shown) => {
  expect(shownArgs(args)).toEqual({ args: shown, isCut: true });
});

describe('conditions of rules', () => {
  const isAsked = (call: ToolCall, given: object): boolean =>
    findRequiredApproval({ call }, { terms, rules: [rule(given)] }) !== undefined;

  test.each([
    ['write_file', { path: '/mnt/user-data/outputs/a' }, false],
    ['write_file', { path: '/mnt/user-data/outputs/../workspace/a' }, true],
    ['write_file', { path: '/mnt/user-data/workspace/a' }, true],
    ['files_move', { source: '/mnt/user-data/outputs/a', destination: '/etc/a' }, true],
    ['write_file', { content: '/etc' }, false],
    ['write_file', { path: 'outputs/a' }, true],
    ['files_show', { filepaths: ['/mnt/user-data/outputs/a', '/etc/a'] }, true],
    ['files_show', { directories: ['/mnt/user-data/outputs/a'] }, false],
    ['files_copy', { srcFiles: ['/etc/a'] }, true],
    ['files_read', { uri: 'file:///etc/a%20b' }, true],
    ['files_read', { uri: 'file:///mnt/user-data/outputs/a' }, false],
    ['files_read', { uri: 'file:///mnt/user-data/outputs/%2e%2e/workspace/a' }, true],
    ['ls', { path: '/etc' }, false],
  ])('%s %j, outside of the outputs: %s', (name, args, expected) => {
    const given = { tools: ['write_file', 'files_*'], paths_outside: ['/mnt/user-data/outputs/*'] };
    expect(isAsked(callOf(name, args), given)).toBe(expected);
  });

  test.each([
    ['web_fetch', { url: 'https://docs.example.com/a' }, false],
    ['web_fetch', { url: 'https://EVIL.com./a' }, true],
    ['web_fetch', { url: 'evil.com/a' }, true],
    ['web_fetch', { url: 'https://docs.example.com@evil.com/' }, true],
    ['http_get', { request: { urls: ['https://a.example.com', 'http://evil.com:8080'] } }, true],
    ['web_search', { query: 'evil.com' }, false],
    ['web_search', { query: 'see https://evil.com/' }, false],
    ['web_fetch', { url: 'https:/evil.com' }, true],
    ['web_fetch', { url: 'docs.example.com:8080/a' }, false],
    ['copy', { from: 'ftp://evil.com/a', to: 'ftp://docs.EXAMPLE.com/a' }, true],
    ['copy', { domains: ['evil.com'] }, true],
  ])('%s %j, outside of the known hosts: %s', (name, args, expected) => {
    expect(isAsked(callOf(name, args), { hosts_outside: ['*.example.com'] })).toBe(expected);
  });

  test.each([
    [{ url: 'https:/evil.com' }],
    [{ url: 'https:evil.com/a' }],
    [{ endpoint: 'ftp://evil.com' }],
    [{ host: 'evil.com:22' }],
    [{ host: 'EVIL.com' }],
  ])('%j has the host evil.com', (args) => {
    expect(isAsked(callOf('fetch', args), { hosts: ['evil.com'] })).toBe(true);
  });

  test('all conditions of a rule must hold; a question of the agent is never asked for', () => {
    expect(isAsked(callOf('web_fetch', { url: 'https://a.b' }), { tools: ['x'], hosts: ['a.b'] })).toBe(false);
    expect(isAsked(callOf('ask_clarification', {}), { tools: ['*'] })).toBe(false);
    expect(isAsked(callOf('ls', {}), { tools: ['*'] })).toBe(true);
  });

  test.each([[{}], [{ decider: 'admin' }], [{ tools: [] }], [{ tools: ['a'], more: 1 }]])(
    'a rule must be whole: %j',
    (given) => {
      expect(ApprovalRule.safeParse({ id: 'x', ...given }).success).toBe(false);
    },
  );
});
