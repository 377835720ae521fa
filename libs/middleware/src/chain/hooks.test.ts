import type { ThreadState } from '@caribou/contracts';
import type { AgentMiddleware, Step } from '@caribou/core';
import { fakeRun, humanMessage } from '@caribou/testing';
import fc from 'fast-check';
import { type HookName, runHooks } from './hooks.js';

const HOOKS: readonly HookName[] = ['beforeAgent', 'beforeModel', 'afterModel', 'afterAgent'];
const NAMES = ['a', 'b', 'c', 'd', 'e'];

/** A middleware whose every hook appends its name to the title, so order shows in the state. */
const signs = (name: string, step: Step = {}): AgentMiddleware => {
  const hook = (state: ThreadState): Promise<Step> =>
    Promise.resolve({ update: { title: `${state.title ?? ''}${name}` }, ...step });
  return { name, beforeAgent: hook, beforeModel: hook, afterModel: hook, afterAgent: hook };
};
const empty: ThreadState = { messages: [] };

describe(runHooks, () => {
  test('before hooks run in list order, after hooks in reverse, each seeing what the last one changed', async () => {
    await fc.assert(
      fc.asyncProperty(fc.shuffledSubarray(NAMES), fc.constantFrom(...HOOKS), async (names, hook) => {
        const order = hook.startsWith('before') ? names : names.toReversed();
        const suffix = hook.replace(/[A-Z]/, (letter) => `_${letter.toLowerCase()}`);

        const pass = await runHooks(
          names.map((name) => signs(name)),
          hook,
          { state: empty, run: fakeRun() },
        );

        expect(pass.state.title ?? '').toBe(order.join(''));
        expect(pass.updates.map(({ node }) => node)).toEqual(order.map((name) => `${name}.${suffix}`));
        expect(pass.ended).toBe(false);
      }),
    );
  });

  test('an end stops the hooks behind it and keeps its own update; afterAgent runs to its end', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.shuffledSubarray(NAMES),
        fc.shuffledSubarray(NAMES),
        fc.constantFrom(...HOOKS),
        async (outer, inner, hook) => {
          const chain = [
            ...outer.map((name) => signs(name)),
            signs('!', { end: true }),
            ...inner.map((name) => signs(name)),
          ];
          const all = chain.map(({ name }) => name);
          const order = hook.startsWith('before') ? all : all.toReversed();
          const reached = hook === 'afterAgent' ? order : order.slice(0, order.indexOf('!') + 1);

          const pass = await runHooks(chain, hook, { state: empty, run: fakeRun() });

          expect(pass.state.title).toBe(reached.join(''));
          expect(pass.ended).toBe(hook !== 'afterAgent');
        },
      ),
    );
  });

  test('a hook without a change is not reported, and the state stays the same object', async () => {
    const idle: AgentMiddleware = { name: 'idle', beforeModel: () => Promise.resolve({ update: { messages: [] } }) };
    const silent: AgentMiddleware = { name: 'silent', beforeModel: () => Promise.resolve(undefined) };
    const state: ThreadState = { messages: [humanMessage('hi')] };

    const pass = await runHooks([idle, silent, { name: 'none' }], 'beforeModel', { state, run: fakeRun() });

    expect(pass.updates).toEqual([]);
    expect(pass.state).toBe(state);
  });

  test('an exception of a hook passes', async () => {
    const broken: AgentMiddleware = { name: 'broken', afterModel: () => Promise.reject(new Error('no')) };

    await expect(runHooks([broken], 'afterModel', { state: empty, run: fakeRun() })).rejects.toThrow('no');
  });
});
