import type { Config } from '@caribou/config';
import { checkConfig } from './check-config.js';
import { checkMcp, checkOwnCode, checkSkills } from './check-extensions.js';
import { checkDisk, checkPort } from './check-machine.js';
import { checkModels } from './check-models.js';
import { checkSandbox } from './check-sandbox.js';
import { checkNats, checkRedisServer } from './check-servers.js';
import { type Finding, fail, reasonOf } from './finding.js';
import type { DoctorContext } from './doctor-context.js';

/** The deadline of each check; checks of other systems have shorter ones. */
const CHECK_MS = 60_000;

type Check = readonly [topic: string, check: () => readonly Finding[] | Promise<readonly Finding[]>];

/**
 * Checks everything that Caribou needs, without starting it, and advises what to do about faults. It changes nothing, except
 * that it creates and removes a sandbox. Never rejects: a check that throws is a finding.
 */
export async function examine(context: DoctorContext): Promise<readonly Finding[]> {
  const { config, findings } = checkConfig(context);
  if (config === undefined) return findings;
  const found = await Promise.all(checks(config, context).map(runCheck));
  return [...findings, ...found.flat()];
}

const checks = (config: Config, context: DoctorContext): readonly Check[] => [
  ['model', () => checkModels(config)],
  ['nats', () => checkNats(config, context)],
  ['redis', () => checkRedisServer(config, context)],
  ['sandbox', () => checkSandbox(config, context)],
  ['data', () => checkDisk(config)],
  ['port', () => checkPort(config, context)],
  ['your code', () => checkOwnCode(config)],
  ['mcp', () => checkMcp(config, context)],
  ['skills', () => checkSkills(context)],
];

async function runCheck([topic, check]: Check): Promise<readonly Finding[]> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<readonly Finding[]>((resolve) => {
    timer = setTimeout(() => resolve([fail(topic, `no answer within ${CHECK_MS} ms`, 'try again')]), CHECK_MS);
  });
  try {
    return await Promise.race([Promise.resolve().then(check), late]);
  } catch (error) {
    return [fail(topic, `the check failed: ${reasonOf(error)}`, 'correct that and try again')];
  } finally {
    clearTimeout(timer);
  }
}
