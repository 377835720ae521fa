import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { runBody } from '../support/client.js';
import { taskLines, WITH_SUBAGENTS } from '../support/task-client.js';
import { uploadFile } from './files/file-requests.js';
import type { RunHistory } from './history.js';
import type { FollowedRun, Journal, WantedEffect } from './journal.js';
import type { RetryingClient } from './retrying-client.js';
import type { PlannedTurn, TurnKind } from './plan.js';
import type { Random } from './random.js';

export interface TurnTools {
  readonly client: RetryingClient;
  readonly random: Random;
  readonly journal: Journal;
}

type Take = (threadId: string, turn: PlannedTurn, tools: TurnTools) => Promise<void>;

/** The text by which the result of a command reports that its line was written. */
export const reportOf = ({ where, word }: WantedEffect): string => `${where === 'mcp' ? 'paid' : 'wrote'}:${word}`;

export const bash = (command: string): string => `#tool bash ${JSON.stringify({ description: 'a test', command })}`;
const LEDGER = '/mnt/user-data/workspace/ledger';
const NOTES = '/mnt/user-data/workspace/notes';
/** The quotes in the middle prevent the report from appearing in the command's own text. */
const entry = (word: string, waitS = 0.4): string => `echo ${word} >> ${LEDGER}; sleep ${waitS}; echo wro""te:${word}`;

interface Start {
  readonly script: string;
  readonly kind: RunHistory['kind'];
  readonly may?: readonly string[];
  readonly wanted?: readonly WantedEffect[];
  readonly options?: Readonly<Record<string, unknown>>;
}

/** Starts a run at any gateway, once however often it is requested; a text is the refusal with 409. */
export async function start(
  threadId: string | undefined,
  { script, kind, may = ['success'], wanted = [], options = {} }: Start,
  { client, journal }: TurnTools,
): Promise<FollowedRun | string> {
  const path = threadId === undefined ? '/runs' : `/threads/${threadId}/runs`;
  const headers = { 'idempotency-key': randomUUID() };
  const body = runBody(script, options);
  const accepted = await client.ask(`a run of "${kind}" to be accepted`, async (api) => {
    const answer = await api.call<{ run_id: string; thread_id: string }>('POST', path, body, headers);
    if (answer.status !== 200 && answer.status !== 409)
      throw new Error(`answered ${answer.status}: ${JSON.stringify(answer.body)}`);
    return answer;
  });
  if (accepted.status === 409) {
    journal.declined.push(script);
    return JSON.stringify(accepted.body);
  }
  const { run_id: runId, thread_id: ofThread } = accepted.body;
  return journal.accepted({ threadId: ofThread, runId, kind, script, may, wanted });
}

/** A turn from its start to its end. */
async function whole(threadId: string | undefined, begin: Start, tools: TurnTools): Promise<void> {
  const run = await start(threadId, begin, tools);
  if (typeof run === 'string') tools.journal.refused(begin.kind, threadId ?? '', run);
  else await tools.client.follow(run);
}

const plain: Take = (threadId, { word, kind }, tools) => {
  const options = { context: { model_name: tools.random.pick(['large', 'small']) } };
  return whole(threadId, { kind, script: `${word}\n#tokens 25 20`, options }, tools);
};

const withTools: Take = (threadId, { word, kind }, tools) => {
  const lines = [
    word,
    ...['#callid call_0', '#say Working', `#+${bash(entry(word)).slice(1)}`],
    `#tool read_file ${JSON.stringify({ description: 'a test', path: NOTES })}`,
    `#tool write_file ${JSON.stringify({ description: 'a test', path: NOTES, content: `${word}\n`, append: true })}`,
    '#tokens 20 20',
  ];
  const wanted: WantedEffect[] = [
    { where: 'ledger', word },
    { where: 'notes', word },
  ];
  return whole(threadId, { kind, script: lines.join('\n'), wanted }, tools);
};

const subagents: Take = (threadId, { word, kind }, tools) => {
  const works = [`${word}a\n${bash(entry(`${word}a`))}\n#say Done.`, `${word}b\n#tokens 20 30`];
  const wanted: WantedEffect[] = [{ where: 'ledger', word: `${word}a` }];
  return whole(
    threadId,
    { kind, script: `${word}\n${taskLines(...works)}\n#say Both.`, wanted, options: WITH_SUBAGENTS },
    tools,
  );
};

const question: Take = async (threadId, { word, kind }, tools) => {
  const asked = { question: `Where to, ${word}?`, clarification_type: 'approach_choice', options: ['Oslo', 'Rome'] };
  const script = `${word}\n#tool ask_clarification ${JSON.stringify(asked)}\n#say not reached`;
  await whole(threadId, { kind, script }, tools);
  await whole(threadId, { kind, script: `${word}answer\n#say Rome it is.` }, tools);
};

const cancel: Take = async (threadId, { word, kind }, tools) => {
  const { client, random } = tools;
  const action = random.chance(0.7) ? 'interrupt' : 'rollback';
  const script = `${word}\n${bash(entry(word, 1))}\n#tokens 60 40`;
  const may = ['success', action === 'interrupt' ? 'interrupted' : 'gone'];
  const run = await start(threadId, { kind, script, may, wanted: [{ where: 'ledger', word }] }, tools);
  if (typeof run === 'string') return tools.journal.refused(kind, threadId, run);
  const path = `/threads/${threadId}/runs/${run.runId}/cancel?wait=${random.between(0, 1)}&action=${action}`;
  const stop = async (): Promise<void> => {
    await sleep(random.between(0, 3_000));
    await client.ask('the cancel to be taken', async (api) => {
      const { status } = await api.call('POST', path);
      if (![202, 204, 404].includes(status)) throw new Error(`answered ${status}`);
      return status;
    });
  };
  await Promise.all([client.follow(run), stop()]);
};

const upload: Take = async (threadId, { word, kind }, tools) => {
  const name = `${word}.txt`;
  await uploadFile(threadId, { name, content: `wrote:${word}\n` }, tools.client);
  const command = `cp /mnt/user-data/uploads/${name} ${LEDGER}.${word} && cat ${LEDGER}.${word}`;
  await whole(threadId, { kind, script: `${word}\n${bash(command)}\n#say Read.` }, tools);
};

const memory: Take = async (threadId, { word, kind }, tools) => {
  await whole(threadId, { kind, script: `Remember: ${word}\n#say I shall.` }, tools);
  tools.journal.remembered.push({ threadId, word });
};

const mcp: Take = (threadId, { word, kind }, tools) => {
  const script = `${word}\n#tool effects_pay ${JSON.stringify({ word })}\n#say Paid.`;
  return whole(threadId, { kind, script, wanted: [{ where: 'mcp', word }] }, tools);
};

const stateless: Take = (_threadId, { word, kind }, tools) => {
  const script = `${word}\n${bash('echo alone')}\n#say Alone.`;
  return whole(undefined, { kind, script, may: ['success', 'gone'], options: { on_completion: 'delete' } }, tools);
};

/** Two runs at once: the second while the first is running, with a strategy. */
const together =
  (strategy: 'enqueue' | 'interrupt' | 'rollback' | 'reject', firstMayBe: readonly string[]): Take =>
  async (threadId, { word, kind }, tools) => {
    const may = ['success', ...firstMayBe];
    const first = await start(threadId, { kind, may, script: `${word}first\n#tokens 50 40` }, tools);
    if (typeof first === 'string') return tools.journal.refused(kind, threadId, first);
    await sleep(tools.random.between(0, 1_500));
    const script = `${word}second\n#tokens 10 20`;
    const second = await start(threadId, { kind, script, options: { multitask_strategy: strategy } }, tools);
    if (typeof second === 'string' && strategy !== 'reject')
      tools.journal.incident(`${kind} was refused: ${second}`, { threadId });
    await Promise.all([first, second].flatMap((run) => (typeof run === 'string' ? [] : [tools.client.follow(run)])));
  };

/** The implementation of each kind of turn but `files`. */
export const TAKE: Readonly<Record<Exclude<TurnKind, 'files'>, Take>> = {
  plain,
  tools: withTools,
  subagents,
  question,
  cancel,
  upload,
  memory,
  mcp,
  stateless,
  enqueue: together('enqueue', []),
  interrupt: together('interrupt', ['interrupted']),
  rollback: together('rollback', ['gone']),
  reject: together('reject', []),
};
