import type { z } from 'zod';

/**
 * What reading the configuration found: faults stop the start, warnings name what is missed, notices what goes another
 * way than the file says. Each is told once.
 */
export interface Findings {
  readonly faults: string[];
  readonly warnings: string[];
  readonly notices: string[];
}

export const noFindings = (): Findings => ({ faults: [], warnings: [], notices: [] });

/** `models[0].name` from a zod path. */
function keyOf(root: string, path: readonly PropertyKey[]): string {
  return path.reduce<string>(
    (key, part) =>
      typeof part === 'number' ? `${key}[${part}]` : key === '' ? String(part) : `${key}.${String(part)}`,
    root,
  );
}

/** Adds one fault per zod issue; zod's own messages name limits and types, never the value that was given. */
export function addIssues(findings: Findings, root: string, error: z.ZodError): void {
  for (const issue of error.issues) findings.faults.push(`${keyOf(root, issue.path)}: ${issue.message}`);
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
