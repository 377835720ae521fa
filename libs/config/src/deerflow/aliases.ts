import { isAbsolute, resolve } from 'node:path';
import type { Findings } from '../common/findings.js';
import { type Environment, variable } from '../common/references.js';

/** Variables of ours that hold a path, and DeerFlow's names for them. */
const aliases = {
  CARIBOU_CONFIG: 'DEER_FLOW_CONFIG_PATH',
  CARIBOU_EXTENSIONS_CONFIG: 'DEER_FLOW_EXTENSIONS_CONFIG_PATH',
  CARIBOU_HOME: 'DEER_FLOW_HOME',
} as const;

export type PathVariable = keyof typeof aliases;

/** A path of the environment, and the variable it came from. */
export interface NamedPath {
  /** Absolute. */
  readonly path: string;
  readonly name: string;
}

interface Reading {
  readonly env: Environment;
  readonly cwd: string;
  readonly findings: Findings;
}

/** The path that our variable holds, else DeerFlow's; each use of the other name is told once. */
export function namedPath({ env, cwd, findings }: Reading, ours: PathVariable): NamedPath | undefined {
  const theirs = aliases[ours];
  const absolute = (value: string): string => (isAbsolute(value) ? value : resolve(cwd, value));
  const [own, other] = [variable(env, ours), variable(env, theirs)].map((value) =>
    value === undefined ? undefined : absolute(value),
  );
  if (own !== undefined) {
    if (other !== undefined && other !== own) findings.notices.push(`${theirs}: not used: ${ours} is set as well`);
    return { path: own, name: ours };
  }
  if (other === undefined) return undefined;
  findings.notices.push(`${theirs}: read as ${ours}`);
  return { path: other, name: theirs };
}
