import { type Config, ConfigError, configFindings, loadConfig } from '@caribou/config';
import { type Finding, fail } from './finding.js';
import type { DoctorContext } from './doctor-context.js';

export interface Loaded {
  /** The configuration; undefined when it cannot be used. */
  readonly config: Config | undefined;
  readonly findings: readonly Finding[];
}

/** Loads the configuration as the services do. */
export function checkConfig({ env, root }: DoctorContext): Loaded {
  try {
    const config = loadConfig(env, root);
    return { config, findings: configFindings(config) };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const findings = error.faults.map((fault) => fail('config', fault, 'correct the key or the variable'));
    return { config: undefined, findings };
  }
}
