import { createHash } from 'node:crypto';
import { type Message, textOf } from '@caribou/contracts';
import { isFinalAnswer, isUserMessage, type NumberedMessage, stripReasoning, userText } from '@caribou/core';
import { excerpt, isTrivial, stripUploadBlocks } from './message-text.js';

/** One message as it is in the prompt. */
export interface Line {
  readonly who: 'user' | 'assistant';
  readonly text: string;
}

export interface Transcript {
  /** Complete exchanges in order; empty when nothing is worth an extraction. */
  readonly lines: readonly Line[];
  /** Number of the last log entry that is processed. */
  readonly watermark: number;
  /** Fingerprints of processed messages, oldest first. */
  readonly seen: readonly string[];
  /** More entries follow that can be processed at once. */
  readonly more: boolean;
}

interface Item extends Line {
  /** Number of the first log entry of the message. */
  readonly entry: number;
  readonly id: string;
}

/** Limit of lines of one extraction; the next one continues behind them. */
const MAX_LINES = 60;
/** Limit of stored fingerprints: far more messages than a context holds, and only those are written to the log again. */
const MAX_FINGERPRINTS = 2_000;

/**
 * Reads a thread's log page by page, starting after a watermark, and collects user messages and final answers in complete
 * exchanges.
 *
 *  - A message that is in the log twice counts once, in its newest version. A processed message is skipped unless its
 *    text changed, because the log is rewritten from time to time.
 *  - Messages that only attach files or are small talk are dropped together with their answers.
 *  - The watermark stays before an exchange without an answer, which is read once it is complete.
 */
export class ConversationReader {
  private readonly items = new Map<string, Item>();
  private readonly known: ReadonlySet<string>;
  private lines = 0;
  private answered = false;
  /** First entry of the next extraction, once this one is full. */
  private nextStart: number | undefined;
  private last: number;

  constructor(
    after: number,
    private readonly before: readonly string[],
  ) {
    this.known = new Set(before);
    this.last = after;
  }

  /** Whether the limit of lines is reached; further entries are then ignored. */
  get full(): boolean {
    return this.nextStart !== undefined;
  }

  /** Adds the messages of all entries up to `last`, in order. */
  add(messages: readonly NumberedMessage[], last: number): void {
    for (const { entry, message } of messages) {
      if (this.full) return;
      this.addMessage(entry, message);
    }
    if (!this.full) this.last = Math.max(this.last, last);
  }

  finish(): Transcript {
    const items = [...this.items.values()].filter(({ text }) => text !== DROPPED);
    const open = this.nextStart ?? items.slice(items.findLastIndex(({ who }) => who === 'assistant') + 1)[0]?.entry;
    const whole = items.filter(({ entry }) => open === undefined || entry < open);
    return {
      lines: whole.length === 0 ? [] : selectExchanges(whole),
      watermark: open === undefined ? this.last : open - 1,
      seen: [...this.before, ...whole.map(fingerprintOf)].slice(-MAX_FINGERPRINTS),
      more: this.full,
    };
  }

  private addMessage(entry: number, message: Message): void {
    const line = lineOf(message);
    const known = this.items.get(message.id);
    const item = { entry: known?.entry ?? entry, id: message.id, ...line };
    if (known === undefined && (line.text === DROPPED || this.known.has(fingerprintOf(item)))) return;
    if (known === undefined && line.who === 'user' && this.answered && this.lines >= MAX_LINES) {
      this.nextStart = entry;
      return;
    }
    this.items.set(message.id, item);
    if (known === undefined) this.lines += 1;
    this.answered = line.who === 'assistant';
  }
}

/** Text of messages that are neither the user's nor a final answer. */
const DROPPED = '\u0000';

function lineOf(message: Message): Line {
  if (isUserMessage(message)) return { who: 'user', text: excerpt(stripUploadBlocks(userText(message))) };
  if (!isFinalAnswer(message)) return { who: 'assistant', text: DROPPED };
  return { who: 'assistant', text: excerpt(stripReasoning(textOf(message.content)).trim()) };
}

/** A hash of eight characters over id and text of a message. */
const fingerprintOf = ({ id, text }: Item): string =>
  createHash('sha256').update(`${id}\n${text}`).digest('base64url').slice(0, 8);

/** Selects exchanges with a meaningful user message and an answer. */
function selectExchanges(items: readonly Item[]): readonly Line[] {
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
