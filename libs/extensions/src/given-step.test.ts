import { ExtensionError } from '@caribou/contracts';
import { applyUpdate } from '@caribou/core';
import fc from 'fast-check';
import { z } from 'zod';
import { toStep } from './given-step.js';
import { ownState } from './own-state.js';

const own = ownState('probe', z.json());
const speaker = { kind: 'middleware' as const, name: 'probe', place: 'beforeModel' };

describe(toStep, () => {
  test('whatever a hook returns is a step that the reducer takes, or an error that names it', () => {
    const message = fc.record(
      {
        type: fc.constantFrom('human', 'system', 'ai', 'tool', 'remove', 'function'),
        content: fc.oneof(fc.string(), fc.array(fc.string()), fc.anything({ maxDepth: 1 })),
        id: fc.oneof(fc.string(), fc.anything({ maxDepth: 0 })),
        tool_call_id: fc.string(),
        name: fc.string(),
        status: fc.constantFrom('success', 'error', 'x'),
      },
      { requiredKeys: ['type'] },
    );
    const update = fc.record(
      { messages: fc.array(message), title: fc.oneof(fc.string(), fc.integer()), artifacts: fc.array(fc.string()) },
      { requiredKeys: [] },
    );
    const step = fc.record({ update, own: fc.anything(), end: fc.boolean() }, { requiredKeys: [] });
    const state = { messages: [], guards: { ours: 1 }, extensions: { other: 1 } };
    fc.assert(
      fc.property(fc.oneof(step, fc.anything()), (given) => {
        try {
          const taken = toStep(given, own, speaker);
          const after = applyUpdate(state, taken?.update ?? {});

          expect(after.guards).toEqual({ ours: 1 });
          expect(after.extensions?.['other']).toBe(1);
          expect(after.messages.every(({ id }) => typeof id === 'string')).toBe(true);
        } catch (error) {
          if (!(error instanceof ExtensionError)) throw error;
          expect(error.message).toContain("the middleware 'probe'");
        }
      }),
    );
  });
});
