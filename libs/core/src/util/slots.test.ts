import fc from 'fast-check';
import { SlotMap, SlotSet } from './slots.js';

describe(SlotSet, () => {
  test('has the members that were added and not removed', () => {
    const set = new SlotSet<{ readonly name: string }>();
    const [removeA] = [set.add({ name: 'a' }), set.add({ name: 'b' })];
    removeA?.();
    set.add({ name: 'c' });
    // Its slot belongs to another member by now.
    removeA?.();

    expect([...set].map(({ name }) => name).sort()).toEqual(['b', 'c']);
    expect(set.size).toBe(2);
  });

  test('may change while its members are visited', () => {
    const set = new SlotSet<{ readonly remove: () => void }>();
    const removals = [1, 2, 3].map(() => {
      const member = { remove: (): void => removals.forEach((remove) => remove()) };
      return set.add(member);
    });

    for (const { remove } of set) remove();

    expect([...set]).toEqual([]);
  });
});

describe(SlotMap, () => {
  test('does what a Map does', () => {
    const step = fc.record({ key: fc.constantFrom('a', 'b', 'c', 'd'), isSet: fc.boolean(), value: fc.nat() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const [map, slots] = [new Map<string, { value: number }>(), new SlotMap<{ value: number }>()];
        for (const { key, isSet, value } of steps) {
          for (const one of [map, slots]) {
            if (isSet) one.set(key, { value });
            else one.delete(key);
          }
          expect(slots.size).toBe(map.size);
          for (const name of ['a', 'b', 'c', 'd']) expect(slots.get(name)).toEqual(map.get(name));
          const byValue = (one: { value: number }, other: { value: number }): number => one.value - other.value;
          expect([...slots.values()].sort(byValue)).toEqual([...map.values()].sort(byValue));
        }
      }),
    );
  });
});
