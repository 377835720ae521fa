import { z } from 'zod';

/** The result of one check. */
export interface Finding {
  /** fail: Caribou does not work; warn: it works with a limitation. */
  readonly level: 'ok' | 'warn' | 'fail';
  readonly topic: string;
  /** Never contains a key or a password. */
  readonly text: string;
  /** What to do about it. */
  readonly fix?: string;
}

export const ok = (topic: string, text: string): Finding => ({ level: 'ok', topic, text });
export const warn = (topic: string, text: string, fix: string): Finding => ({ level: 'warn', topic, text, fix });
export const fail = (topic: string, text: string, fix: string): Finding => ({ level: 'fail', topic, text, fix });

/** The fields of an error that are read here, also of an error from another realm. */
const ErrorFields = z.object({ message: z.string(), code: z.unknown().optional(), cause: z.unknown().optional() });

/** The message of an error without its stack: that of its cause if it has one, or the code of a system error. */
export function reasonOf(error: unknown): string {
  const fields = ErrorFields.safeParse(error).data;
  if (fields === undefined) return String(error);
  const { message, code } = ErrorFields.safeParse(fields.cause).data ?? fields;
  return typeof code === 'string' && /^E[A-Z]+$/.test(code) ? code : message;
}

/** A line of the report, and one for what to do. */
export function linesOf({ level, topic, text, fix }: Finding): readonly string[] {
  const head = `${level.padEnd(5)} ${topic.padEnd(11)} `;
  return [head + text, ...(fix === undefined ? [] : [`${' '.repeat(head.length)}→ ${fix}`])];
}
