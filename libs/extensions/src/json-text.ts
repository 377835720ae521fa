/** The value as JSON; undefined for values that JSON cannot represent: a function, a cycle, a bigint. */
export function jsonText(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}
