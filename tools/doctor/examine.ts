import type { Config } from '@caribou/config';
import { checkConfig } from './check-config.js';
import { checkMcp, checkOwnCode, checkSkills } from './check-extensions.js';
import { checkDisk, checkPort } from './check-machine.js';
import { checkModels } from './check-models.js';
import { checkSandbox } from './check-sandbox.js';
import { checkNats, checkRedisServer } from './check-servers.js';
import { type Finding, fail, reasonOf } from './finding.js';
import type { Surroundings } from './surroundings.js';

/** For each check; those that ask others have shorter deadlines of their own. */
const CHECK_MS = 60_000;

type Check = readonly [topic: string, check: () => readonly Finding[] | Promise<readonly Finding[]>];

/**
 * Looks at everything Caribou needs, without starting it, and says what to do about what is missing. Nothing is changed
 * but for a sandbox that is made and removed. Never rejects: a check that fails itself is a finding.
 */
export async function examine(surroundings: Surroundings): Promise<readonly Finding[]> {
  const { config, findings } = checkConfig(surroundings);
  if (config === undefined) return findings;
  const found = await Promise.all(checks(config, surroundings).map(carriedOut));
  return [...findings, ...found.flat()];
}

const checks = (config: Config, surroundings: Surroundings): readonly Check[] => [
  ['model', () => checkModels(config)],
  ['nats', () => checkNats(config, surroundings)],
  ['redis', () => checkRedisServer(config, surroundings)],
  ['sandbox', () => checkSandbox(config, surroundings)],
  ['data', () => checkDisk(config)],
  ['port', () => checkPort(config, surroundings)],
  ['your code', () => checkOwnCode(config)],
  ['mcp', () => checkMcp(config, surroundings)],
  ['skills', () => checkSkills(surroundings)],
];

async function carriedOut([topic, check]: Check): Promise<readonly Finding[]> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<readonly Finding[]>((resolve) => {
    timer = setTimeout(() => resolve([fail(topic, `no answer within ${CHECK_MS} ms`, 'try again')]), CHECK_MS);
  });
  try {
    return await Promise.race([Promise.resolve().then(check), late]);
  } catch (error) {
    return [fail(topic, `cannot be looked at: ${reasonOf(error)}`, 'correct that and try again')];
  } finally {
    clearTimeout(timer);
  }
}
