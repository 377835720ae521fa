import { type Frame, lastValues } from '../support/client.js';
import { nth, type Stack, startStack } from '../support/stack.js';
import { openGate } from '../support/threads-on-disk.js';

jest.setTimeout(120_000);

interface Piece {
  readonly type: string;
  readonly tool_call_id: string;
  readonly stdout: string;
  readonly omitted_chars: number;
}

const isPiece = ({ event, data }: Frame): boolean => event === 'custom' && (data as Piece).type === 'bash_output';
const holds =
  (text: string) =>
  (frame: Frame): boolean =>
    isPiece(frame) && (frame.data as Piece).stdout.includes(text);
const piecesOf = (frames: readonly Frame[]): readonly Piece[] =>
  frames.filter(isPiece).map(({ data }) => data as Piece);
const bash = (command: string): string => `#tool bash ${JSON.stringify({ description: 'slow', command })}\n#say Done.`;
const gate = (name: string): string => `until [ -e ${name} ]; do sleep 0.1; done`;

describe('output of a running command', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack();
  });
  afterAll(() => stack.stop());

  test('reaches the stream before the result, which is the same; a quick command publishes none', async () => {
    const client = stack.client();
    const threadId = await client.newThread();
    const stream = await client.run(threadId, bash(`echo "half €"; ${gate('go')}; echo whole`));
    await stream.waitFor('the output so far', holds('half €'));
    openGate(stack, threadId, 'go');
    const frames = await stream.end();

    const result = lastValues(frames).find(({ type }) => type === 'tool');
    expect(result?.content).toBe('half €\nwhole\n');
    expect(piecesOf(frames)[0]?.tool_call_id).toBe(result?.tool_call_id);
    const firstPiece = frames.findIndex(isPiece);
    const answered = frames.findIndex(
      ({ event, data }) => event === 'messages' && (data as [{ type: string }])[0].type === 'tool',
    );
    expect(firstPiece).toBeGreaterThan(-1);
    expect(answered).toBeGreaterThan(firstPiece);

    const quick = await (await client.run(threadId, bash('echo quick'))).end();
    expect(piecesOf(quick)).toEqual([]);
  });

  test('is bounded when a command writes much', async () => {
    const client = stack.client();
    const threadId = await client.newThread();
    const flood = 'i=0; while [ $i -lt 40 ]; do head -c 100000 /dev/zero | tr "\\0" y; i=$((i+1)); sleep 0.01; done';
    const stream = await client.run(threadId, bash(`${flood}; ${gate('go')}`));
    await stream.waitFor('some output', holds('yyy'));
    openGate(stack, threadId, 'go');
    const frames = await stream.end();

    const pieces = piecesOf(frames);
    expect(Math.max(...pieces.map(({ stdout }) => stdout.length))).toBeLessThanOrEqual(4096);
    expect(pieces.reduce((sum, { stdout }) => sum + stdout.length, 0)).toBeLessThanOrEqual(65_536);
    expect(pieces.some(({ omitted_chars }) => omitted_chars > 0)).toBe(true);
  });

  test('continues at the runner that takes over the turn, without a repetition', async () => {
    const client = stack.client();
    const threadId = await client.newThread();
    const ticks = 'i=0; until [ -e go ]; do i=$((i+1)); echo "tick $i."; sleep 0.2; done';
    const stream = await client.run(threadId, bash(ticks));
    await stream.waitFor('the first ticks', holds('tick 1.'));
    await stack.start('agent-runner');
    await nth(stack.runners, 0).kill9();
    const taken = await stream.waitFor(
      'the takeover',
      ({ event, data }) => event === 'metadata' && (data as { attempt: number }).attempt === 2,
      40_000,
    );
    const after = stream.frames.indexOf(taken);
    await stream.waitFor(
      'ticks of the second runner',
      (frame) => isPiece(frame) && stream.frames.indexOf(frame) > after,
    );
    openGate(stack, threadId, 'go');
    const frames = await stream.end();

    const received = piecesOf(frames).flatMap(({ stdout }) => stdout.match(/tick \d+\./g) ?? []);
    expect(new Set(received).size).toBe(received.length);
    expect(lastValues(frames).find(({ type }) => type === 'tool')?.content).toContain('tick 1.');
  });
});
