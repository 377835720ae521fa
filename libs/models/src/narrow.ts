export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the value if it is a non-empty text. */
export const textIn = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;
