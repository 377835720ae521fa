import { Secret } from '@caribou/config';
import type { ModelModule } from '@caribou/core';
import { loadModels } from './load-models.js';
import type { Toolkit } from './public-types.js';

const stream = (): ReturnType<ModelModule['stream']> => (async function* () {})();
const load = () =>
  Promise.resolve({
    good: ({ defineModel }: Toolkit, options: unknown) => {
      given.push(options);
      return defineModel({ stream });
    },
    plain: () => ({ stream }),
    wrong: ({ defineModel }: Toolkit) => defineModel({ stream: 7 as never }),
    typo: ({ defineModel }: Toolkit) => defineModel({ stream, timeout: 3 } as ModelModule),
    throws: () => {
      throw new Error('no region');
    },
  });
const given: unknown[] = [];
const entry = (name: string, at: string) => ({
  name,
  module: { use: `/secret/folder/x.mjs#${at}`, shown: `x.mjs#${at}`, options: new Secret({ region: 'eu' }) },
});

describe('loadModels', () => {
  test('loads the models with a module, with the keys of their entries', async () => {
    const loaded = await loadModels([{ name: 'other' }, entry('own', 'good')], { load });

    expect([...loaded.keys()]).toEqual(['own']);
    expect(loaded.get('own')?.stream).toBe(stream);
    expect(given).toEqual([{ region: 'eu' }]);
  });

  test('names every entry that cannot be used, without folder and keys', async () => {
    const entries = ['plain', 'wrong', 'typo', 'throws', 'absent'].map((at) => entry(`of ${at}`, at));

    const error = await loadModels(entries, { load }).catch((reason: unknown) => reason);

    expect(error).toMatchObject({
      faults: [
        'models: "of plain" (x.mjs#plain): the export must return what defineModel gives',
        'models: "of wrong" (x.mjs#wrong): the definition of a model is wrong: stream: must be a function',
        'models: "of typo" (x.mjs#typo): the definition of a model is wrong: Unrecognized key: "timeout"',
        'models: "of throws" (x.mjs#throws): Error: no region',
        expect.stringMatching(/^models: "of absent" \(x\.mjs#absent\): it has no export absent/),
      ],
    });
  });
});
