import { BugError } from '@caribou/contracts';
import fc from 'fast-check';
import { type Layer, onion } from './onion.js';

type TextLayer = Layer<string, string>;

const passes = (name: string, trace: string[] = []): TextLayer => ({
  name,
  call: async (request, next) => {
    trace.push(`>${name}`);
    const result = await next(`${request}${name}`);
    trace.push(`<${name}`);
    return `${name}${result}`;
  },
});
const answers = (name: string): TextLayer => ({ name, call: () => Promise.resolve(`by ${name}`) });
const failing = (): Promise<string> => Promise.reject(new Error('broken'));

const NAMES = ['a', 'b', 'c', 'd', 'e', 'f'];

describe(onion, () => {
  test('layers nest with the first outermost, whatever their number', async () => {
    await fc.assert(
      fc.asyncProperty(fc.shuffledSubarray(NAMES), async (names) => {
        const trace: string[] = [];
        const call = onion(
          names.map((name) => passes(name, trace)),
          (request) => Promise.resolve(`[${request}]`),
        );

        const result = await call('');

        expect(result).toBe(`${names.join('')}[${names.join('')}]`);
        expect(trace).toEqual([...names.map((name) => `>${name}`), ...names.toReversed().map((name) => `<${name}`)]);
      }),
    );
  });

  test('a call that throws at once fails like one that fails later, and may be repeated', async () => {
    const retries: TextLayer = {
      name: 'retries',
      call: (request, next) => next(request).catch(() => next(`${request} again`)),
    };
    const call = onion([retries], (request) => {
      if (!request.endsWith('again')) throw new Error('broken');
      return Promise.resolve(request);
    });
    expect(await call('once')).toBe('once again');
  });

  test('a layer that answers without next hides everything inside it', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom(...NAMES)),
        fc.array(fc.constantFrom(...NAMES)),
        async (outer, inner) => {
          const trace: string[] = [];
          const layers = [
            ...outer.map((name) => passes(name)),
            answers('x'),
            ...inner.map((name) => passes(name, trace)),
          ];

          const result = await onion(layers, () => Promise.reject(new Error('core was reached')))('');

          expect(result).toBe(`${outer.join('')}by x`);
          expect(trace).toEqual([]);
        },
      ),
    );
  });

  test('a layer may call next again once it settled', async () => {
    const attempts: string[] = [];
    const retry: TextLayer = {
      name: 'retry',
      call: async (request, next) => {
        for (;;) {
          try {
            return await next(request);
          } catch (error) {
            if (attempts.length > 2) throw error;
          }
        }
      },
    };
    const core = (request: string): Promise<string> => {
      attempts.push(request);
      return attempts.length < 3 ? Promise.reject(new Error('busy')) : Promise.resolve('there');
    };

    await expect(onion([retry, passes('a')], core)('')).resolves.toBe('athere');
    expect(attempts).toEqual(['a', 'a', 'a']);
  });

  test('the layer that returned before its next settled is named, wherever it stands', async () => {
    const forgets: TextLayer = {
      name: 'forgetful',
      call: (request, next) => {
        void next(request).catch(() => undefined);
        return Promise.resolve('too early');
      },
    };
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom(...NAMES)),
        fc.array(fc.constantFrom(...NAMES)),
        async (outer, inner) => {
          const layers = [...outer, ...inner].map((name) => passes(name));
          layers.splice(outer.length, 0, forgets);

          const call = onion(layers, () => new Promise<string>((resolve) => setImmediate(() => resolve('late'))))('');

          await expect(call).rejects.toThrow(new BugError('forgetful returned before its next() settled'));
        },
      ),
      { numRuns: 20 },
    );
  });

  test('a forgotten call that fails later does not become an unhandled rejection', async () => {
    const forgets: TextLayer = {
      name: 'forgetful',
      call: (request, next) => {
        void next(request);
        return Promise.resolve('too early');
      },
    };

    const failsLater = async (): Promise<string> => {
      await new Promise((resolve) => setImmediate(resolve));
      throw new Error('broken');
    };

    await expect(onion([forgets], failsLater)('')).rejects.toThrow('forgetful returned');
    await new Promise((resolve) => setTimeout(resolve, 1));
  });

  test('a second next beside a running one is refused', async () => {
    const doubles: TextLayer = {
      name: 'double',
      call: async (request, next) => (await Promise.all([next(request), next(request)])).join(),
    };

    await expect(onion([doubles], (request) => Promise.resolve(request))('')).rejects.toThrow(
      'double called next() again before it settled',
    );
  });

  test('an error of the core passes through layers that do not catch it', async () => {
    await expect(onion([passes('a'), passes('b')], failing)('')).rejects.toThrow('broken');
  });
});
