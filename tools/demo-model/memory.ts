import { textOf } from './conversation.js';
import { asOps, type Op, type Reply, textDeltas } from './reply.js';
import type { ChatMessage } from './request-check.js';

interface Said {
  readonly line: number;
  readonly words: string;
}

interface Fact {
  readonly content: string;
  readonly category: string;
  readonly confidence: number;
  readonly from: readonly number[];
}

/** Beginnings of users' sentences about themselves; the first match decides. */
const statements: readonly (readonly [pattern: RegExp, category: string])[] = [
  [/^remember(?: that)?:?\s+(.+)$/i, 'context'],
  [/^((?:my name is|i am|i'm|i live|i work|we are|we work)\b.+)$/i, 'context'],
  [/^((?:i like|i love|i prefer|i hate|i don't like)\b.+)$/i, 'preference'],
  [/^((?:i know|i speak)\b.+)$/i, 'knowledge'],
  [/^((?:i want|i plan)\b.+)$/i, 'goal'],
  [/^no,? that'?s wrong[:,]\s+(.+)$/i, 'correction'],
];

/**
 * The answer to a memory extraction, undefined for another request. It extracts what users say about themselves ("I live in
 * …", "Remember: …"), removes known facts that match the text after "Forget:", and uses the user's first text as the top of
 * their mind. Text of the conversation controls it: `memory-hold:NAME` waits until NAME is released, `memory-wait:MS` takes
 * that long, `memory-fails:STATUS` fails (`memory-fails:STATUSxN`: the first N times), `memory-says:TEXT` answers the rest
 * of the line unchanged, and `memory-sloppy` answers malformed JSON as some models do.
 */
export function memoryReply(
  messages: readonly ChatMessage[],
  hasTools: boolean,
  seenBefore: (text: string) => number,
): Reply | undefined {
  const last = messages.at(-1);
  const prompt = last === undefined ? '' : textOf(last);
  const block = /<current_memory>\n([\s\S]*)\n<\/current_memory>[\s\S]*<conversation>\n([\s\S]*)\n<\/conversation>\s*$/;
  const found = hasTools ? null : block.exec(prompt);
  if (found === null) return undefined;
  const [, memory = '', conversation = ''] = found;
  const [, status, times = 'Infinity'] = /memory-fails:(\d{3})(?:x(\d+))?/.exec(conversation) ?? [];
  const fails = status !== undefined && seenBefore(conversation) < Number(times);
  const end: Op[] = fails
    ? [{ op: 'fail', status: Number(status), message: 'no memory' }]
    : asOps(textDeltas(answerTo(memory, conversation)));
  return { ops: [...waits(conversation), ...end], finish: 'stop' };
}

function waits(conversation: string): Op[] {
  const gate = /memory-hold:(\w+)/.exec(conversation)?.[1];
  const ms = /memory-wait:(\d{1,5})/.exec(conversation)?.[1];
  return [
    ...(gate === undefined ? [] : [{ op: 'hold', name: gate } as const]),
    ...(ms === undefined ? [] : [{ op: 'wait', ms: Number(ms) } as const]),
  ];
}

function answerTo(memory: string, conversation: string): string {
  const raw = /memory-says:(.*)/.exec(conversation)?.[1];
  if (raw !== undefined) return raw;
  const answer = JSON.stringify(learnt(memory, saidIn(conversation)));
  return conversation.includes('memory-sloppy')
    ? `Here it is:\n\`\`\`json\n${answer.replaceAll('}', ',}')}\n\`\`\``
    : answer;
}

function learnt(memory: string, said: readonly Said[]): unknown {
  const sentences = said.flatMap(({ line, words }) =>
    words.split(/(?<=[.!?])\s+|\n+/).map((sentence) => ({ line, text: sentence.trim() })),
  );
  const forgotten = sentences.flatMap(({ text }) => /^forget:?\s+(.+?)[.!]?$/i.exec(text)?.[1] ?? []);
  const topic = sentences.find(({ text }) => text !== '' && !text.startsWith('#'))?.text;
  return {
    user: {
      topOfMind: {
        summary: topic === undefined ? '' : `Spoke of: ${topic.slice(0, 120)}`,
        shouldUpdate: topic !== undefined,
      },
    },
    history: {},
    newFacts: sentences.flatMap(({ line, text }) => factIn(line, text)),
    factsToRemove: findKnownIds(memory, forgotten),
  };
}

function factIn(line: number, sentence: string): Fact[] {
  for (const [pattern, category] of statements) {
    const content = pattern.exec(sentence)?.[1];
    if (content !== undefined) return [{ content, category, confidence: 0.95, from: [line] }];
  }
  return [];
}

/** The user's text by the number of the line, without directives for the agent's answers. */
function saidIn(conversation: string): readonly Said[] {
  return conversation.split(/^(?=\[\d+\] (?:User|Assistant): )/m).flatMap((paragraph) => {
    const [, line, words] = /^\[(\d+)\] User: ([\s\S]*)$/.exec(paragraph) ?? [];
    if (line === undefined || words === undefined) return [];
    const plain = words.split('\n').filter((text) => !text.startsWith('#'));
    return [{ line: Number(line), words: plain.join('\n') }];
  });
}

/** Ids of the facts in the memory, which is JSON with its markup escaped, that contain one of the words. */
function findKnownIds(memory: string, words: readonly string[]): readonly string[] {
  const { facts = [] } = JSON.parse(memory) as { facts?: { id: string; content: string }[] };
  return facts
    .filter(({ content }) => words.some((word) => content.toLowerCase().includes(word.toLowerCase())))
    .map(({ id }) => id);
}
