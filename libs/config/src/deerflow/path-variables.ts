import { isAbsolute, resolve } from 'node:path';
import type { Findings } from '../common/findings.js';
import { type Environment, variable } from '../common/references.js';

/** Variables that hold a path, with DeerFlow's name for each. */
const deerFlowNames = {
  CARIBOU_CONFIG: 'DEER_FLOW_CONFIG_PATH',
  CARIBOU_EXTENSIONS_CONFIG: 'DEER_FLOW_EXTENSIONS_CONFIG_PATH',
  CARIBOU_HOME: 'DEER_FLOW_HOME',
} as const;

export type PathVariable = keyof typeof deerFlowNames;

/** A path from the environment, and the variable that holds it. */
export interface NamedPath {
  /** Absolute. */
  readonly path: string;
  readonly name: string;
}

interface ReadContext {
  readonly env: Environment;
  readonly cwd: string;
  readonly findings: Findings;
}

/** Reads the path in the given variable, else in DeerFlow's; adds one notice when DeerFlow's is set. */
export function readPathVariable(
  { env, cwd, findings }: ReadContext,
  variableName: PathVariable,
): NamedPath | undefined {
  const deerFlowName = deerFlowNames[variableName];
  const absolute = (value: string): string => (isAbsolute(value) ? value : resolve(cwd, value));
  const [own, other] = [variable(env, variableName), variable(env, deerFlowName)].map((value) =>
    value === undefined ? undefined : absolute(value),
  );
  if (own !== undefined) {
    if (other !== undefined && other !== own)
      findings.notices.push(`${deerFlowName}: not used: ${variableName} is set as well`);
    return { path: own, name: variableName };
  }
  if (other === undefined) return undefined;
  findings.notices.push(`${deerFlowName}: read as ${variableName}`);
  return { path: other, name: deerFlowName };
}
