import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { skeletonOf } from './compare.js';
import { ANSWER_DIFFERENCES, REFUSAL_DIFFERENCES } from './answer-differences.js';
import type { DifferenceGroup } from './difference-group.js';
import { STREAM_DIFFERENCES } from './stream-differences.js';
import { type Frame, loadRecording, MODE_NAMES, type ModeName, SCRIPT_NAMES, type ScriptName } from './frames.js';
import { runAsRecorded } from './our-run.js';
import { singleDifferences } from './single-differences.js';
import { type Stack, startStack } from '../support/stack.js';

let stack: Stack;

beforeAll(async () => {
  stack = await startStack();
});

afterAll(() => stack.stop());

/** Every difference and its scripts, to compare with the listed ones. */
type Seen = Map<string, Set<ScriptName>>;

function note(seen: Seen, script: ScriptName, differences: readonly string[]): void {
  for (const difference of differences) seen.set(difference, (seen.get(difference) ?? new Set()).add(script));
}

/** Differences as a readable table: one line each, with the scripts it belongs to. */
const table = (entries: Iterable<readonly [string, Iterable<ScriptName>]>): string[] =>
  [...entries].map(([difference, scripts]) => `${difference}  (${[...scripts].sort().join(', ')})`).sort();

const listed = (groups: readonly DifferenceGroup[]): string[] =>
  table(groups.flatMap(({ differences, scripts }) => differences.map((difference) => [difference, scripts] as const)));

describe('Caribou compared with the recorded peer', () => {
  test('the streams of the five scripts differ in the listed ways and in no other', async () => {
    const seen: Seen = new Map();
    const compareMode = async (script: ScriptName, mode: ModeName): Promise<void> => {
      const { frames } = await runAsRecorded(stack, script, mode);
      note(seen, script, singleDifferences(skeletonOf(loadRecording(script, mode).frames), skeletonOf(frames)));
    };
    for (const script of SCRIPT_NAMES) await Promise.all(MODE_NAMES.map((mode) => compareMode(script, mode)));

    expect(table(seen)).toEqual(listed(STREAM_DIFFERENCES));
  });

  test('thread, state, history, runs and join after each script differ in the listed ways and in no other', async () => {
    const seen: Seen = new Map();
    for (const script of SCRIPT_NAMES) {
      const ours = await answersAfter(script);
      note(seen, script, singleDifferences(skeletonOf(recordedAnswers(script)), skeletonOf(ours)));
    }

    expect(table(seen)).toEqual(listed(ANSWER_DIFFERENCES));
  });

  test('wrong requests get the same status, but for the listed ones, and a readable detail', async () => {
    const answers = await ourRefusals();

    const different = Object.entries(answers).flatMap(([request, { status: ours }]) => {
      const { status: peer } = load<Answer>('errors', request);
      return peer === ours ? [] : [{ request, peer, ours }];
    });
    expect(different).toEqual(REFUSAL_DIFFERENCES.map(({ request, peer, ours }) => ({ request, peer, ours })));
    const refused = Object.values(answers).filter(({ status }) => status >= 400);
    expect(refused.map(({ body }) => body)).toEqual(refused.map(() => ({ detail: expect.any(String) })));
  });
});

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

const load = <Content>(folder: string, name: string): Content =>
  JSON.parse(readFileSync(join(__dirname, folder, `${name}.json`), 'utf8')) as Content;

const ANSWERS = ['thread', 'state', 'history', 'run', 'runs', 'join'] as const;
type Answers = Record<(typeof ANSWERS)[number], Answer>;

/** Answers as frames, so that they are compared the way streams are. */
const asFrames = (answers: Answers): Frame[] => ANSWERS.map((name) => ({ event: name, data: answers[name].body }));

const recordedAnswers = (script: ScriptName): Frame[] => asFrames(load<Answers>(script, 'after'));

async function answersAfter(script: ScriptName): Promise<Frame[]> {
  const { threadId, runId } = await runAsRecorded(stack, script, 'combined');
  const base = `/threads/${threadId}`;
  const get = (path: string): Promise<Answer> => stack.client().call('GET', `${base}${path}`);
  return asFrames({
    thread: await get(''),
    state: await get('/state'),
    history: await stack.client().call('POST', `${base}/history`, { limit: 10 }),
    run: await get(`/runs/${runId}`),
    runs: await get('/runs'),
    join: await get(`/runs/${runId}/join`),
  });
}

/** Caribou's answers to the requests of record-errors.mjs; it is an ES module, so it runs in a separate process. */
async function ourRefusals(): Promise<Record<string, Answer>> {
  const recorder = join(__dirname, '..', '..', 'tools', 'record-peer', 'record-errors.mjs');
  const program = `const { recordErrors } = await import(process.argv[1]);
    console.log(JSON.stringify(await recordErrors(process.argv[2], process.argv[3])));`;
  const args = ['--input-type=module', '--eval', program, recorder, stack.client().base, stack.model.url];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 40_000 });
  return JSON.parse(stdout) as Record<string, Answer>;
}
