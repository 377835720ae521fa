import { z } from 'zod';
import { applyUpdate, EMPTY_STATE } from './agent-state.js';
import { runSlot, stateSlot } from './state-slot.js';

describe('fields of middlewares', () => {
  const counts = stateSlot('guards', 'counter', z.object({ seen: z.number() }));
  const other = stateSlot('guards', 'other', z.string());

  test('a field is stored next to the fields of others and can be deleted', () => {
    const both = applyUpdate(applyUpdate(EMPTY_STATE, counts.write({ seen: 2 })), other.write('x'));
    expect([counts.read(both), other.read(both)]).toEqual([{ seen: 2 }, 'x']);

    const one = applyUpdate(both, counts.write(undefined));
    expect([counts.read(one), other.read(one)]).toEqual([undefined, 'x']);
    expect(one.guards).toEqual({ other: 'x' });
  });

  test('a field that another version wrote is as if it were not there', () => {
    expect(counts.read({ ...EMPTY_STATE, guards: { counter: { seen: 'many' } } })).toBeUndefined();
  });

  test('a field of one run is nothing to another', () => {
    const slot = runSlot('counter', z.number());
    const state = applyUpdate(EMPTY_STATE, slot.write(3, { runId: 'a' }));
    expect([slot.read(state, { runId: 'a' }), slot.read(state, { runId: 'b' })]).toEqual([3, undefined]);
  });
});
