import { readAgentEnvironment } from './agent-environment.js';

const CARIBOU_AGENT_TOKEN_SHA256 = '0a'.repeat(32);

describe('readAgentEnvironment', () => {
  test('needs nothing but the checksum of the token', () => {
    expect(readAgentEnvironment({ CARIBOU_AGENT_TOKEN_SHA256 })).toEqual({
      tokenSha256: CARIBOU_AGENT_TOKEN_SHA256,
      host: '::',
      port: 7777,
      proxyPort: 3128,
      skillsDirectory: '/mnt/skills',
      orphanMs: 300_000,
    });
  });

  test.each([
    ['CARIBOU_AGENT_TOKEN_SHA256', {}],
    ['CARIBOU_AGENT_TOKEN_SHA256', { CARIBOU_AGENT_TOKEN_SHA256: 'secret' }],
    ['CARIBOU_AGENT_PORT', { CARIBOU_AGENT_TOKEN_SHA256, CARIBOU_AGENT_PORT: '70000' }],
    ['CARIBOU_AGENT_ORPHAN_MS', { CARIBOU_AGENT_TOKEN_SHA256, CARIBOU_AGENT_ORPHAN_MS: 'soon' }],
  ])('names %s when it is wrong, and not its value', (name, env) => {
    expect(() => readAgentEnvironment(env)).toThrow(new RegExp(`^${name}: (?!.*secret)`));
  });
});
