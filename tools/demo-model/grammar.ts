/** The action of one directive line. Texts are final, numbers checked; milliseconds in `…Ms`, deltas in `…Tokens`. */
export type Action =
  | { do: 'say'; text: string }
  | { do: 'think'; text: string }
  | { do: 'tokens'; count: number; delayMs: number }
  | { do: 'stamps'; count: number; delayMs: number }
  | { do: 'tool'; name: string; args: string }
  | { do: 'echo' }
  | { do: 'length' }
  | { do: 'headers' }
  | { do: 'usage'; input: number; output: number }
  | { do: 'delay'; ms: number; times: number }
  | { do: 'hold'; name: string; at: 'here' | 'before' | number; times: number }
  | { do: 'error'; status: number; message: string; times: number }
  | { do: 'fault'; kind: string; detail: string; times: number }
  | { do: 'cut'; afterTokens: number; reset: boolean; times: number };

/** Model turns in order, and the id every tool call of the script gets when one was set. */
export interface Script {
  steps: Action[][];
  callId?: string;
}

/** A line of a script that cannot be carried out. */
export class ScriptError extends Error {
  override readonly name = 'ScriptError';
  constructor(line: string, why: string) {
    super(`bad directive "${line}": ${why}`);
  }
}

const MAX_COUNT = 100_000;
const MAX_MS = 600_000;
const LINE = /^#(\+)?([a-z][a-z-]*)(?:[ \t]+(.*))?$/;

type Reader = (rest: Words) => Action;

const readers: Record<string, Reader> = {
  say: (w) => ({ do: 'say', text: w.text() }),
  think: (w) => ({ do: 'think', text: w.text() }),
  tokens: (w) => ({ do: 'tokens', count: w.number('N', MAX_COUNT), delayMs: w.number('delayMs', MAX_MS, 0) }),
  stamps: (w) => ({ do: 'stamps', count: w.number('N', MAX_COUNT), delayMs: w.number('delayMs', MAX_MS, 0) }),
  tool: (w) => ({ do: 'tool', name: w.word('NAME'), args: w.json() }),
  badargs: (w) => ({ do: 'tool', name: w.word('NAME'), args: w.text() }),
  'echo-messages': () => ({ do: 'echo' }),
  length: () => ({ do: 'length' }),
  headers: () => ({ do: 'headers' }),
  usage: (w) => ({ do: 'usage', input: w.number('in', 1e9), output: w.number('out', 1e9) }),
  delay: (w) => ({ do: 'delay', times: w.times(), ms: w.number('MS', MAX_MS) }),
  hold: (w) => ({ do: 'hold', times: w.times(), name: w.word('NAME'), at: w.place() }),
  error: (w) => ({ do: 'error', times: w.times(), status: w.status(), message: w.text() }),
  fault: (w) => ({ do: 'fault', times: w.times(), kind: w.word('KIND'), detail: w.text() }),
  cut: (w) => ({
    do: 'cut',
    times: w.times(),
    reset: w.flag('reset'),
    afterTokens: w.number('afterTokens', MAX_COUNT, 0),
  }),
};

/**
 * Reads the script in a human message; lines that do not begin with a known `#word` are not part of it.
 * Undefined when the message holds no directive at all.
 *
 * @throws ScriptError when a script holds a `#word` it does not know, or a directive that is malformed.
 */
export function parseScript(text: string): Script | undefined {
  if (!text.includes('#')) return undefined;
  const lines = text
    .split('\n')
    .map((line) => LINE.exec(line.trim()))
    .filter((match) => match !== null);
  if (!lines.some((match) => isKnown(match[2]))) return undefined;
  const script: Script = { steps: [] };
  for (const [line, plus, word = '', rest = ''] of lines) {
    const words = new Words(line, rest);
    if (word === 'callid') {
      script.callId = words.word('ID');
      continue;
    }
    const read = Object.hasOwn(readers, word) ? readers[word] : undefined;
    if (read === undefined) throw new ScriptError(line, 'unknown directive');
    place(script, read(words), plus !== undefined);
  }
  return script;
}

function isKnown(word: string | undefined): boolean {
  return word !== undefined && (word === 'callid' || Object.hasOwn(readers, word));
}

/** A lead-in has no answer of its own, so the next line belongs to its step without a `+`. */
function place(script: Script, action: Action, joined: boolean): void {
  const last = script.steps.at(-1);
  if (last !== undefined && (joined || last.every(isLeadIn))) last.push(action);
  else script.steps.push([action]);
}

function isLeadIn(action: Action): boolean {
  if (['error', 'fault', 'cut'].includes(action.do)) return 'times' in action && Number.isFinite(action.times);
  return ['think', 'delay', 'hold', 'usage', 'headers'].includes(action.do);
}

/** The words after a directive, taken from the left. */
class Words {
  constructor(
    private readonly line: string,
    private rest: string,
  ) {}

  word(what: string): string {
    const [, word = '', rest = ''] = /^(\S*)\s*(.*)$/.exec(this.rest) ?? [];
    if (word === '') throw new ScriptError(this.line, `${what} is missing`);
    this.rest = rest;
    return word;
  }

  /** A whole number from 0 to `max`; `otherwise` when nothing is left to read. */
  number(what: string, max: number, otherwise?: number): number {
    if (this.rest === '' && otherwise !== undefined) return otherwise;
    const value = Number(this.word(what));
    if (!Number.isInteger(value) || value < 0 || value > max) {
      throw new ScriptError(this.line, `${what} must be a whole number from 0 to ${max}`);
    }
    return value;
  }

  status(): number {
    const status = this.number('STATUS', 599);
    if (status < 400) throw new ScriptError(this.line, 'STATUS must be from 400 to 599');
    return status;
  }

  /** All that is left; `\n` written as two characters is a line break. */
  text(): string {
    return this.rest.replaceAll('\\n', '\n');
  }

  json(): string {
    const text = this.rest === '' ? '{}' : this.rest;
    try {
      JSON.parse(text);
    } catch (cause) {
      if (cause instanceof SyntaxError)
        throw new ScriptError(this.line, 'the arguments are not JSON; #badargs sends such');
      throw cause;
    }
    return text;
  }

  place(): 'here' | 'before' | number {
    if (this.rest === '') return 'here';
    const word = this.word('before or after');
    if (word === 'before') return 'before';
    if (word !== 'after') throw new ScriptError(this.line, 'expected "before" or "after N"');
    return this.number('N', MAX_COUNT);
  }

  flag(name: string): boolean {
    const before = this.rest;
    this.rest = before
      .split(/\s+/)
      .filter((word) => word !== name)
      .join(' ');
    return this.rest.length !== before.length;
  }

  /** Takes `times=K` from anywhere among the words; without it the directive holds for every call. */
  times(): number {
    const match = /(?:^|\s)times=(\d{1,6})(?=\s|$)/.exec(this.rest);
    if (match === null) return Number.POSITIVE_INFINITY;
    this.rest = `${this.rest.slice(0, match.index)}${this.rest.slice(match.index + match[0].length)}`.trim();
    return Number(match[1]);
  }
}
