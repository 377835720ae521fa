import { encodeBody } from './request-body.js';

describe(encodeBody, () => {
  const tool = { name: 'bash', description: 'runs "ls – l"', parameters: { type: 'object' } };
  const bodies: [string, Record<string, unknown>][] = [
    ['without tools', { model: 'm' }],
    ['with tools', { model: 'm', tools: [tool, { ...tool, name: 'ls' }] }],
    ['with a tool that an earlier body had', { model: 'm', tools: [tool] }],
    ['with an empty list of tools', { tools: [] }],
    ['whose tools are not a list', { model: 'm', tools: 'all' }],
    ['whose tools are not objects', { model: 'm', tools: ['web', null] }],
    ['of tools only', { tools: [tool] }],
  ];

  test.each(bodies)('a body %s has all its fields', (_, body) => {
    expect(JSON.parse(encodeBody(body).toString())).toEqual(body);
  });
});
