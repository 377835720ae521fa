import { type Findings, isRecord } from './findings.js';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The variable's value; an empty one counts as unset, as compose files hand on unset variables as empty ones. */
export function variable(env: Environment, name: string): string | undefined {
  const value = env[name]?.trim();
  return value === '' ? undefined : value;
}

/**
 * The value with every string that starts with `$` replaced by the variable of that name (DeerFlow's rule: the
 * whole string is the reference). A variable that is not set adds a fault naming key and variable.
 */
export function resolveReferences(
  value: unknown,
  key: string,
  context: { env: Environment; findings: Findings },
): unknown {
  if (typeof value === 'string') return value.startsWith('$') ? resolveOne(value, key, context) : value;
  if (Array.isArray(value)) return value.map((item, index) => resolveReferences(item, `${key}[${index}]`, context));
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, resolveReferences(item, `${key}.${name}`, context)]),
  );
}

function resolveOne(reference: string, key: string, context: { env: Environment; findings: Findings }): unknown {
  const name = reference.slice(1);
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
    context.findings.faults.push(
      `${key}: a value that starts with "$" must be the name of one variable, like $OPENAI_API_KEY`,
    );
    return undefined;
  }
  const value = variable(context.env, name);
  if (value === undefined) context.findings.faults.push(`${key}: the variable ${name} is not set`);
  return value;
}
