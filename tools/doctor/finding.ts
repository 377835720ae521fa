/** What one look came to. */
export interface Finding {
  /** fail: Caribou does not work like this; warn: it does, and something is missed. */
  readonly level: 'ok' | 'warn' | 'fail';
  readonly topic: string;
  /** Never holds a key or a password. */
  readonly text: string;
  /** What to do about it. */
  readonly fix?: string;
}

export const ok = (topic: string, text: string): Finding => ({ level: 'ok', topic, text });
export const warn = (topic: string, text: string, fix: string): Finding => ({ level: 'warn', topic, text, fix });
export const fail = (topic: string, text: string, fix: string): Finding => ({ level: 'fail', topic, text, fix });

/** The words of an error of the system or of ours, without its stack. */
export function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (cause instanceof Error && 'code' in cause && typeof cause.code === 'string' && /^E[A-Z]+$/.test(cause.code))
    return cause.code;
  return cause instanceof Error ? cause.message : String(cause);
}

/** A line of the report, and one for what to do. */
export function linesOf({ level, topic, text, fix }: Finding): readonly string[] {
  const head = `${level.padEnd(5)} ${topic.padEnd(11)} `;
  return [head + text, ...(fix === undefined ? [] : [`${' '.repeat(head.length)}→ ${fix}`])];
}
