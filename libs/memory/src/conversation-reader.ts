import { createHash } from 'node:crypto';
import { type Message, textOf } from '@caribou/contracts';
import { isFinalAnswer, isUserMessage, type NumberedMessage, stripReasoning, userText } from '@caribou/core';
import { excerpt, isTrivial, withoutUploadBlocks } from './talk.js';

/** One message as the model reads it. */
export interface Line {
  readonly who: 'person' | 'assistant';
  readonly text: string;
}

export interface Reading {
  /** Whole exchanges in order; empty when nothing is worth reading. */
  readonly lines: readonly Line[];
  /** The last entry that was looked at. */
  readonly watermark: number;
  /** Marks of what was looked at, those from before first. */
  readonly seen: readonly string[];
  /** Entries behind the watermark are left that can be read at once. */
  readonly more: boolean;
}

interface Item extends Line {
  /** Where the message first stood. */
  readonly entry: number;
  readonly id: string;
}

/** Most lines of one extraction; what is left is read by the next one. */
const MAX_LINES = 60;
/** Most marks kept: more than a model can read at once, and only what stands in a head is ever written again. */
const MAX_SEEN = 2_000;

/**
 * Reads a thread's log from a watermark on, page by page, and keeps what an extraction needs: persons' words and final
 * answers, in whole exchanges.
 *
 *  - A message written twice counts once, in its newest version. One that was looked at before is left out unless its
 *    words are others now: the log is written anew from time to time.
 *  - Words that only came with files, and words that only keep a conversation going, go with their answers.
 *  - An exchange without its answer stays behind the watermark: it is read when it is whole.
 */
export class ConversationReader {
  private readonly items = new Map<string, Item>();
  private readonly known: ReadonlySet<string>;
  private lines = 0;
  private answered = false;
  /** First entry of what is left for the next extraction. */
  private border: number | undefined;
  private last: number;

  constructor(
    after: number,
    private readonly before: readonly string[],
  ) {
    this.known = new Set(before);
    this.last = after;
  }

  /** Whether enough was read; then nothing more is taken. */
  get full(): boolean {
    return this.border !== undefined;
  }

  /** Adds the entries up to `last`, in order. */
  add(messages: readonly NumberedMessage[], last: number): void {
    for (const { entry, message } of messages) {
      if (this.full) return;
      this.take(entry, message);
    }
    if (!this.full) this.last = Math.max(this.last, last);
  }

  finish(): Reading {
    const items = [...this.items.values()].filter(({ text }) => text !== DROPPED);
    const open = this.border ?? items.slice(items.findLastIndex(({ who }) => who === 'assistant') + 1)[0]?.entry;
    const whole = items.filter(({ entry }) => open === undefined || entry < open);
    return {
      lines: whole.length === 0 ? [] : worthReading(whole),
      watermark: open === undefined ? this.last : open - 1,
      seen: [...this.before, ...whole.map(markOf)].slice(-MAX_SEEN),
      more: this.full,
    };
  }

  private take(entry: number, message: Message): void {
    const line = lineOf(message);
    const known = this.items.get(message.id);
    const item = { entry: known?.entry ?? entry, id: message.id, ...line };
    if (known === undefined && (line.text === DROPPED || this.known.has(markOf(item)))) return;
    if (known === undefined && line.who === 'person' && this.answered && this.lines >= MAX_LINES) {
      this.border = entry;
      return;
    }
    this.items.set(message.id, item);
    if (known === undefined) this.lines += 1;
    this.answered = line.who === 'assistant';
  }
}

/** The text of what is neither a person's nor a final answer. */
const DROPPED = '\u0000';

function lineOf(message: Message): Line {
  if (isUserMessage(message)) return { who: 'person', text: excerpt(withoutUploadBlocks(userText(message))) };
  if (!isFinalAnswer(message)) return { who: 'assistant', text: DROPPED };
  return { who: 'assistant', text: excerpt(stripReasoning(textOf(message.content)).trim()) };
}

/** Eight characters for a message with its words. */
const markOf = ({ id, text }: Item): string =>
  createHash('sha256').update(`${id}\n${text}`).digest('base64url').slice(0, 8);

/** Exchanges in which a person said something, with what was answered. */
function worthReading(items: readonly Item[]): readonly Line[] {
  const lines: Line[] = [];
  let asked: Line[] = [];
  let answers: Line[] = [];
  const close = (): void => {
    if (asked.length > 0 && answers.length > 0) lines.push(...asked, ...answers);
    asked = [];
    answers = [];
  };
  for (const { who, text } of items) {
    if (who === 'assistant') {
      if (text !== '') answers.push({ who, text });
      continue;
    }
    if (answers.length > 0) close();
    if (!isTrivial(text)) asked.push({ who, text });
  }
  close();
  return lines;
}
