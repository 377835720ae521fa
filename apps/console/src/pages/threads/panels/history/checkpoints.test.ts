import { nextOf, stepOf } from './checkpoints.js';

const task = (over: object) => ({
  id: 't',
  name: 'tools',
  path: [],
  error: null,
  interrupts: [],
  checkpoint: null,
  state: null,
  result: null,
  ...over,
});
const ref = (id: string) => ({ thread_id: 't', checkpoint_ns: '' as const, checkpoint_id: id, checkpoint_map: null });

describe('stepOf', () => {
  test('has what the list shows', () => {
    const step = stepOf({
      checkpoint: ref('b'),
      parent_checkpoint: ref('a'),
      metadata: { source: 'loop', step: 3, run_id: 'r' },
      created_at: '2026-01-05T00:00:00.000Z',
      next: ['tools'],
      tasks: [task({})],
    });
    expect(step).toEqual({
      id: 'b',
      parentId: 'a',
      title: 'Step 3 · Agent’s step',
      at: '2026-01-05T00:00:00.000Z',
      runId: 'r',
      next: ['tools'],
      isWaiting: false,
      error: undefined,
    });
  });

  test('the empty state of a new thread is no step', () => {
    expect(stepOf({ checkpoint: null, next: [] })).toBeUndefined();
  });
});

describe('nextOf', () => {
  const stepWith = (over: object) => {
    const step = stepOf({ checkpoint: ref('b'), metadata: {}, next: [], tasks: [], ...over });
    if (step === undefined) throw new Error('no step');
    return step;
  };

  test.each([
    [{}, 'end of a turn'],
    [{ next: ['model_request'] }, 'next: model'],
    [{ next: ['other'] }, 'next: other'],
    [{ next: ['tools'], tasks: [task({ interrupts: [{}] })] }, 'waits for a person'],
    [{ next: ['tools'], tasks: [task({ error: 'broke' })] }, 'failed'],
  ])('of %j is "%s"', (over, text) => {
    expect(nextOf(stepWith(over))).toBe(text);
  });
});
