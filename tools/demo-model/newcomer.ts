import type { Turn } from './conversation.js';
import { textOf } from './conversation.js';
import { type Delta, type Op, type Reply, sayReply, textDeltas, toolDeltas } from './reply.js';

const LABEL = 'This comes from the scripted demo model of Caribou, not from an AI.';
const REAL_MODEL = 'Set OPENAI_BASE_URL, OPENAI_API_KEY and OPENAI_MODEL to talk to a real model.';

const DELTA_MS = 15;

interface ToolResult {
  tool: string;
  output: string;
}

export interface StoryContext {
  /** Names of the tools the request offers. */
  tools: ReadonlySet<string>;
  /** The id of the call with this index within the answer. */
  callId(index: number): string;
}

/**
 * Answers users who try the system without a model: writes a small shell program about their text, runs it, and reports
 * its output. The next step follows from the tool results of the turn.
 */
export function newcomerReply(turn: Turn, context: StoryContext): Reply {
  const words = oneLine(turn.humanText);
  const path = `/mnt/user-data/workspace/demo_${turn.humanCount}.sh`;
  const results = resultsOf(turn);
  if (!context.tools.has('write_file') || !context.tools.has('bash')) return sayReply(noTools(words));
  if (!results.some(({ tool }) => tool === 'write_file')) {
    const args = { description: 'Write the demo program', path, content: program(words) };
    return call(`${LABEL} I will write a small program about your words and run it.`, 'write_file', args, context);
  }
  const run = results.findLast(({ tool }) => tool === 'bash');
  if (run === undefined) {
    return call('', 'bash', { description: 'Run the demo program', command: `sh ${path}` }, context);
  }
  return { ops: pace(textDeltas(report(path, run.output))), finish: 'stop' };
}

/** A short title from the conversation inside a title prompt. */
export function titleReply(prompt: string): Reply {
  const user = /(?:^|\n)\s*(?:user|human)\s*:\s*([\s\S]*?)(?:\n\s*(?:assistant|ai)\s*:|$)/i.exec(prompt)?.[1] ?? '';
  const plain = user
    .split('\n')
    .filter((line) => !line.trim().startsWith('#'))
    .join(' ');
  const words =
    plain
      .match(/[\p{L}\p{N}'’-]+/gu)
      ?.slice(0, 6)
      .join(' ') ?? '';
  const title = words === '' ? 'Scripted demo chat' : `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
  return sayReply(title.slice(0, 60));
}

/** A request without tools whose prompt asks for the title of a conversation. */
export function isTitlePrompt(prompt: string, hasTools: boolean): boolean {
  return !hasTools && /\b(generate|write|create|give|make|suggest)\b[^\n]{0,60}\btitle\b/i.test(prompt);
}

function resultsOf(turn: Turn): ToolResult[] {
  const names = new Map<string, string>();
  const results: ToolResult[] = [];
  for (const message of turn.after) {
    if (message.role === 'assistant')
      for (const made of message.tool_calls ?? []) names.set(made.id, made.function.name);
    if (message.role === 'tool') results.push({ tool: names.get(message.tool_call_id) ?? '', output: textOf(message) });
  }
  return results;
}

function call(text: string, name: string, args: Record<string, string>, context: StoryContext): Reply {
  const made = toolDeltas({ index: 0, id: context.callId(0), name, args: JSON.stringify(args) });
  return { ops: pace([...textDeltas(text), ...made]), finish: 'tool_calls' };
}

/** A pause before each delta, so that the answer appears gradually like that of a model. */
const pace = (deltas: readonly Delta[]): Op[] =>
  deltas.flatMap((delta): Op[] => [
    { op: 'wait', ms: DELTA_MS },
    { op: 'delta', delta },
  ]);

function noTools(words: string): string {
  return `${LABEL} You wrote: "${words}". With the tools write_file and bash it would write a small program and run it. ${REAL_MODEL}`;
}

function report(path: string, output: string): string {
  const shown = output.trim() === '' ? '(nothing)' : output.trim().slice(0, 4000);
  return [
    `${LABEL} I wrote \`${path}\`, ran it in the sandbox, and this came back:`,
    `\`\`\`\n${shown}\n\`\`\``,
    REAL_MODEL,
  ].join('\n\n');
}

/** The user's text on one line, without control characters, at most 200 characters. */
function oneLine(text: string): string {
  return (
    text
      .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
      .trim()
      .slice(0, 200) || 'hello'
  );
}

function program(words: string): string {
  const quoted = `'${words.replaceAll("'", "'\\''")}'`;
  return [
    '#!/bin/sh',
    '# Written by the scripted demo model.',
    `words=${quoted}`,
    'printf \'You said: %s\\n\' "$words"',
    "printf 'Words: %s\\n' \"$(printf '%s' \"$words\" | wc -w | tr -d ' ')\"",
    "printf 'Characters: %s\\n' \"$(printf '%s' \"$words\" | wc -m | tr -d ' ')\"",
    'printf \'Running in: %s\\n\' "$(pwd)"',
    ...task(words),
    '',
  ].join('\n');
}

/** A few lines of shell that fit the text; without a hint, a sum. */
function task(words: string): string[] {
  const limit = Math.min(Number(/\d{1,4}/.exec(words)?.[0] ?? 10), 200);
  if (/prim(e|zahl)/i.test(words)) {
    return [
      "printf 'Primes up to %s:' " + limit,
      `n=2; while [ "$n" -le ${limit} ]; do`,
      '  d=2; while [ $((d * d)) -le "$n" ] && [ $((n % d)) -ne 0 ]; do d=$((d + 1)); done',
      '  if [ $((d * d)) -gt "$n" ]; then printf \' %s\' "$n"; fi',
      '  n=$((n + 1))',
      "done; printf '\\n'",
    ];
  }
  if (/fibonacci/i.test(words)) {
    const count = Math.min(limit, 60);
    return [
      `a=0; b=1; i=0; printf 'Fibonacci:'; while [ "$i" -lt ${count} ]; do`,
      '  printf \' %s\' "$a"; t=$((a + b)); a=$b; b=$t; i=$((i + 1))',
      "done; printf '\\n'",
    ];
  }
  if (/\b(time|date|day|uhr|datum)\b/i.test(words)) return ['printf \'Date: %s\\n\' "$(date -u)"'];
  return [
    `i=1; sum=0; while [ "$i" -le ${limit} ]; do sum=$((sum + i)); i=$((i + 1)); done`,
    `printf 'Sum of 1 to ${limit}: %s\\n' "$sum"`,
  ];
}
