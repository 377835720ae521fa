import { RunBatch } from './run-batch.js';
import { RunCreate, startCheckpointOf } from './run-create.js';
import { runRoutes, statelessRoutes } from './runs.js';

const HEAD = '01a2008c-ecf5-73c0-87a0-5a76eb8c5b3f';
const OLDER = '01a2008c-ecf5-73c0-87a0-5a76eb8c5b30';

const body = (more: object) => ({ assistant_id: 'lead_agent', ...more });
const refusalsOf = (more: object) =>
  (RunCreate.safeParse(body(more)).error?.issues ?? []).map(({ path, message }) => `${path.join('.')}: ${message}`);

describe('fields of a run', () => {
  test.each<[string, object, string]>([
    ['feedback_keys', { feedback_keys: ['score'] }, 'feedback'],
    ['langsmith_tracer', { langsmith_tracer: { project_name: 'p' } }, 'OTEL_EXPORTER_OTLP_ENDPOINT'],
  ])(
    '%s is refused by its name with an alternative, and an empty one asks for nothing',
    (field, asked, alternative) => {
      expect(refusalsOf(asked)).toEqual([
        expect.stringMatching(new RegExp(`^${field}: is not supported here: .*${alternative}`)),
      ]);
      for (const nothing of [null, false, [], {}]) expect(refusalsOf({ [field]: nothing })).toEqual([]);
    },
  );

  test.each(['exit', 'async', 'sync'])('durability %s asks for no more than there always is', (durability) => {
    expect(refusalsOf({ durability })).toEqual([]);
  });

  test('a breakpoint at a node that there is not would never stop the run', () => {
    for (const interrupt_before of ['*', ['tools'], ['model_request', 'tools'], []])
      expect(refusalsOf({ interrupt_before })).toEqual([]);
    expect(refusalsOf({ interrupt_after: ['agent'] })).toEqual([
      'interrupt_after: must be "*" or a list of nodes, which are model_request and tools',
    ]);
  });

  test('checkpoints of subgraphs are refused wherever they are named', () => {
    expect(refusalsOf({ checkpoint: { checkpoint_ns: 'tools:1' } })).toEqual([
      expect.stringMatching(/^checkpoint\.checkpoint_ns: must be empty/),
    ]);
    expect(refusalsOf({ config: { configurable: { checkpoint_ns: 'x' } } })).toEqual([
      'config.configurable.checkpoint_ns: must be empty',
    ]);
    expect(refusalsOf({ config: { configurable: { checkpoint_id: 'x' } } })).toEqual([
      'config.configurable.checkpoint_id: must be the id of a checkpoint',
    ]);
  });

  test('a run starts at the checkpoint that it names, at last that of its configurable', () => {
    const startOf = (more: object) => startCheckpointOf(RunCreate.parse(body(more)));
    const config = { configurable: { checkpoint_id: OLDER } };

    expect(startOf({})).toBeUndefined();
    expect(startOf({ config })).toBe(OLDER);
    expect(startOf({ config, checkpoint: { checkpoint_id: HEAD } })).toBe(HEAD);
    expect(startOf({ config, checkpoint_id: HEAD })).toBe(HEAD);
    expect(startOf({ config, checkpoint: { checkpoint_id: HEAD, follows_head: true } })).toBeUndefined();
  });

  test('a batch takes the names of the SDK, which sends its own options', () => {
    const sent = {
      assistantId: 'lead_agent',
      assistant_id: 'poet',
      streamMode: 'updates',
      onCompletion: 'keep',
      signal: {},
    };

    expect(RunBatch.parse([sent])).toEqual([{ assistant_id: 'poet', stream_mode: ['updates'], on_completion: 'keep' }]);
    expect(RunBatch.safeParse([{ ...sent, feedbackKeys: ['x'] }]).error?.issues).toMatchObject([
      { path: [0, 'feedback_keys'] },
    ]);
  });
});

describe('queries of streams', () => {
  test.each([runRoutes.stream, runRoutes.joinStream, statelessRoutes.stream])(
    '$name has the root namespace only',
    ({ query }) => {
      expect(query.safeParse({ namespace: '' }).success).toBe(true);
      expect(query.safeParse({}).success).toBe(true);
      expect(query.safeParse({ namespace: ['', 'tools:1'] }).error?.issues).toMatchObject([{ path: ['namespace'] }]);
    },
  );

  test('a rejoining client may name the checkpoint that it shows; a reason of a cancellation is refused by name', () => {
    expect(runRoutes.joinStream.query.safeParse({ checkpoint_id: HEAD }).success).toBe(true);
    expect(runRoutes.cancel.query.safeParse({ reason: 'taken' }).error?.issues).toMatchObject([{ path: ['reason'] }]);
  });
});
