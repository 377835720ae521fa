import { taskIds } from '@caribou/contracts';
import { sampleTask, thread } from '@caribou/testing';
import { HeldTasks } from './held-tasks.js';

const slotOf = (key = thread()) => ({ ...key, token: 't' });

describe(HeldTasks, () => {
  test('a task is found by its thread and owner as long as it is held', () => {
    const held = new HeldTasks();
    const slot = slotOf();
    const task = held.add(slot);

    expect(held.of(slot)).toBe(task);
    expect(held.of({ ...slot, userId: 'bob' })).toBeUndefined();
    held.remove(task);
    expect(held.of(slot)).toBeUndefined();
  });

  test('letting go of a task that was taken again since leaves the new one', () => {
    const held = new HeldTasks();
    const slot = slotOf();
    const old = held.add(slot);
    const again = held.add({ ...slot, token: 'u' });

    held.remove(old);

    expect(held.of(slot)).toBe(again);
  });

  test('the calls of a run are those of its tasks that are here and known', () => {
    const held = new HeldTasks();
    held.add(slotOf());
    for (const [runId, toolCallId] of [
      ['r1', 'a'],
      ['r2', 'b'],
      ['r1', 'c'],
    ] as const)
      held.add(slotOf()).spec = sampleTask({ runId, toolCallId }).spec;

    const continuation = { run_id: 'r4', parent_run_id: 'r3', spent: null };
    held.add(slotOf()).spec = sampleTask({ runId: 'r1', spec: { continuation } }).spec;

    expect(held.runsFor('r1')).toEqual(['a', 'c'].map((call) => taskIds('r1', call).runId));
    expect(held.runsFor('r3')).toEqual(['r4']);
    expect(held.runsFor('r5')).toEqual([]);
  });
});
