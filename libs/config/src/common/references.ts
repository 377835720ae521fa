import { readFileSync } from 'node:fs';
import { isRecord } from '@caribou/contracts';
import { ConfigError } from './config-error.js';
import type { Findings } from './findings.js';

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Returns the variable's value, else the content of the file named by the variable with the suffix `_FILE`, so that a
 * secret need not be in the environment. An empty variable counts as unset, because compose files pass unset ones as empty.
 *
 * @throws {ConfigError} for a file that cannot be read
 */
export function variable(env: Environment, name: string): string | undefined {
  const inFile = `${name}_FILE`;
  const value = trimToUndefined(env[name]);
  const path = trimToUndefined(env[inFile]);
  return value ?? (path === undefined ? undefined : trimToUndefined(readContent(path, inFile)));
}

const trimToUndefined = (text: string | undefined): string | undefined => {
  const trimmed = text?.trim();
  return trimmed === '' ? undefined : trimmed;
};

function readContent(path: string, name: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    const code = typeof cause === 'object' && cause !== null && 'code' in cause ? String(cause.code) : 'unknown';
    throw new ConfigError([`${name}: the file cannot be read (${code})`]);
  }
}

/**
 * Replaces every string that starts with `$` by the variable of that name (as in DeerFlow, the whole string is the
 * reference). A variable that is not set adds a fault with the key and the variable.
 */
export function resolveReferences(
  value: unknown,
  key: string,
  context: { env: Environment; findings: Findings },
): unknown {
  if (typeof value === 'string') return value.startsWith('$') ? resolveReference(value, key, context) : value;
  if (Array.isArray(value)) return value.map((item, index) => resolveReferences(item, `${key}[${index}]`, context));
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, resolveReferences(item, `${key}.${name}`, context)]),
  );
}

function resolveReference(reference: string, key: string, context: { env: Environment; findings: Findings }): unknown {
  const name = reference.slice(1);
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
    context.findings.faults.push(
      `${key}: a value that starts with "$" must be the name of one variable, like $OPENAI_API_KEY`,
    );
    return undefined;
  }
  const value = variable(context.env, name);
  if (value === undefined) context.findings.faults.push(`${key}: the variable ${name} is not set`);
  else context.findings.referenced.push(value);
  return value;
}
