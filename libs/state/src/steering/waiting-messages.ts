import type { HumanMessage } from '@caribou/contracts';
import type { WaitingMessage } from '../ports/run-store.js';
import { parseStored } from '../redis/stored-json.js';

/** Decodes the list of `steering/waiting-list.lua`, which is absent when nothing waits. @throws {BugError} for text that is not JSON */
export function parseWaiting(texts: unknown): { readonly waiting?: readonly WaitingMessage[] } {
  if (!Array.isArray(texts) || texts.length === 0) return {};
  return { waiting: texts.map((text: unknown) => parseEntry(String(text))) };
}

function parseEntry(text: string): WaitingMessage {
  const runEnd = text.indexOf(':');
  const hashEnd = text.indexOf(':', runEnd + 1);
  return { runId: text.slice(0, runEnd), message: parseStored<HumanMessage>(text.slice(hashEnd + 1)) };
}
