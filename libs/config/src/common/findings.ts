import type { z } from 'zod';

/**
 * Problems found in the configuration, each listed once: faults prevent the start, warnings name settings without effect,
 * notices name settings that are applied in another way than the file says.
 */
export interface Findings {
  readonly faults: string[];
  readonly warnings: string[];
  readonly notices: string[];
  /** Values of the variables that the file refers to; they may be secrets wherever they are in the configuration. */
  readonly referenced: string[];
}

export const emptyFindings = (): Findings => ({ faults: [], warnings: [], notices: [], referenced: [] });

/** Formats a zod path as a key such as `models[0].name`. */
function keyOf(root: string, path: readonly PropertyKey[]): string {
  return path.reduce<string>(
    (key, part) =>
      typeof part === 'number' ? `${key}[${part}]` : key === '' ? String(part) : `${key}.${String(part)}`,
    root,
  );
}

/** Adds one fault per zod issue; zod's messages name limits and types, never the given value. */
export function addIssues(findings: Findings, root: string, error: z.ZodError): void {
  for (const issue of error.issues) findings.faults.push(`${keyOf(root, issue.path)}: ${issue.message}`);
}
