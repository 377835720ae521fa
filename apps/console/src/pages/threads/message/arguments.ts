import type { Call } from '../state/items.js';
import { isRecord, stringOf } from '../state/json.js';

const MAX_SUMMARY_CHARS = 160;
/** Keys whose value says best what a call is about. */
const SUMMARY_KEYS = ['description', 'command', 'query', 'path', 'url', 'prompt', 'question'];

/** The arguments of a call as people read them; those of a call that streams are a piece of JSON. */
export function argumentsText({ args, argsText }: Call): string {
  if (argsText !== undefined) return argsText;
  if (!isRecord(args)) return JSON.stringify(args, null, 2) ?? '';
  return Object.entries(args)
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value, null, 2)}`)
    .join('\n');
}

/** One line about a call. */
export function summaryOf({ args }: Call): string {
  if (!isRecord(args)) return '';
  const found = SUMMARY_KEYS.map((key) => stringOf(args[key])).find((text) => text !== undefined && text !== '');
  const line = (found ?? '').slice(0, MAX_SUMMARY_CHARS * 2).replaceAll(/\s+/g, ' ');
  return line.length > MAX_SUMMARY_CHARS ? `${line.slice(0, MAX_SUMMARY_CHARS)}…` : line;
}
