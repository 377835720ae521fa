import { z } from 'zod';

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

/** An error as far as it is read here, whatever realm it is from. */
const Told = z.object({ message: z.string(), code: z.unknown().optional(), cause: z.unknown().optional() });

/** The words of an error, without its stack: those of its cause if it has one, the system's code if it is one of those. */
export function reasonOf(error: unknown): string {
  const told = Told.safeParse(error).data;
  if (told === undefined) return String(error);
  const { message, code } = Told.safeParse(told.cause).data ?? told;
  return typeof code === 'string' && /^E[A-Z]+$/.test(code) ? code : message;
}

/** A line of the report, and one for what to do. */
export function linesOf({ level, topic, text, fix }: Finding): readonly string[] {
  const head = `${level.padEnd(5)} ${topic.padEnd(11)} `;
  return [head + text, ...(fix === undefined ? [] : [`${' '.repeat(head.length)}→ ${fix}`])];
}
