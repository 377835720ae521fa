import { encodeBody } from './request-body.js';

describe(encodeBody, () => {
  const tool = { name: 'bash', description: 'runs "ls – l"', parameters: { type: 'object' } };
  const user = { role: 'user', content: 'Hello "you" – 👋' };
  const system = { role: 'system', content: 'You are "helpful" – 👋.\n'.repeat(100) };
  const bodies: [string, Record<string, unknown>][] = [
    ['without tools', { model: 'm' }],
    ['with tools', { model: 'm', tools: [tool, { ...tool, name: 'ls' }] }],
    ['with a tool that an earlier body had', { model: 'm', tools: [tool] }],
    ['with an empty list of tools', { tools: [] }],
    ['whose tools are not a list', { model: 'm', tools: 'all' }],
    ['whose tools are not objects', { model: 'm', tools: ['web', null] }],
    ['of tools only', { tools: [tool] }],
    ['with messages', { model: 'm', messages: [{ role: 'system', content: 'short' }, user], tools: [tool] }],
    ['with a long system prompt', { model: 'm', messages: [system, user, user], tools: [tool] }],
    ['with the system prompt of an earlier body', { messages: [{ ...system, name: 'n' }], stream: true }],
    ['with a long message of a user first', { messages: [{ ...system, role: 'user' }] }],
    ['without messages in its list', { messages: [], tools: [] }],
    ['whose messages are not a list', { messages: 'none' }],
  ];

  test.each(bodies)('a body %s has all its fields', (_, body) => {
    expect(JSON.parse(encodeBody(body).toString())).toEqual(body);
  });
});
