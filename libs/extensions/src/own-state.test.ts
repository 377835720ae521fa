import { ExtensionError } from '@caribou/contracts';
import { applyUpdate } from '@caribou/core';
import { z } from 'zod';
import { ownState } from './own-state.js';

const Counted = z.object({ words: z.int().min(0) });
const own = ownState('probe', Counted);
const state = { messages: [] };

describe(ownState, () => {
  test('what is written is read again, in a field of its own', () => {
    const after = applyUpdate({ ...state, extensions: { other: 1 } }, own.write({ words: 3 }));

    expect(own.read(after)).toEqual({ words: 3 });
    expect(after.extensions).toEqual({ other: 1, probe: { words: 3 } });
  });

  test('nothing changes nothing, null takes it out', () => {
    const updated = applyUpdate(state, own.write({ words: 3 }));

    expect(own.write(undefined)).toEqual({});
    expect(own.read(applyUpdate(updated, own.write(null)))).toBeUndefined();
  });

  test('state of another version that does not match the schema reads as undefined', () => {
    expect(own.read({ ...state, extensions: { probe: { words: 'three' } } })).toBeUndefined();
  });

  test('a value that breaks the schema is an error that names the middleware and the field', () => {
    expect(() => own.write({ words: -1 })).toThrow(ExtensionError);
    expect(() => own.write({ words: 'x' })).toThrow(/^own state of the middleware 'probe': words: .*number/);
  });

  test('a middleware without a schema stores nothing', () => {
    expect(() => ownState('probe', undefined).write({ words: 1 })).toThrow('its definition has no state');
    expect(ownState('probe', undefined).read({ ...state, extensions: { probe: 1 } })).toBeUndefined();
  });

  test('a value has at most 64 KiB as JSON, counted in bytes', () => {
    const text = ownState('probe', z.string());

    expect(text.read(applyUpdate(state, text.write('x'.repeat(65_534))))).toHaveLength(65_534);
    expect(() => text.write('x'.repeat(65_535))).toThrow('65537 bytes as JSON, at most 65536 are allowed');
    expect(() => text.write('é'.repeat(40_000))).toThrow('80002 bytes');
  });

  test('a value that is not plain JSON is refused', () => {
    const cycle: unknown[] = [];
    cycle.push(cycle);

    for (const value of [1n, () => 1, cycle]) {
      expect(() => ownState('probe', z.any()).write(value)).toThrow('it is not plain JSON');
    }
  });

  test('a date would come back as a text, so it is refused', () => {
    expect(() => ownState('probe', z.object({ at: z.date() })).write({ at: new Date(0) })).toThrow(
      /'probe': at: .*date/,
    );
  });
});
