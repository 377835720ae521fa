import { resultOf, SIZED_RESULT, type WantedResult } from './tool-result.js';

interface Toolkit {
  readonly defineTool: (definition: object) => unknown;
}

/**
 * A custom tool for agents under measurement (`use: <path>#sizedResult` in config.yaml): it answers at once with a text
 * of the wanted length. Like most tools it is not read-only, so its calls are recorded before they are made. A second
 * export would be compiled to a form that `import()` does not find.
 */
export const sizedResult = ({ defineTool }: Toolkit): unknown =>
  defineTool({
    name: SIZED_RESULT,
    description: 'Gives a text of so many characters.',
    input: {
      type: 'object',
      properties: { chars: { type: 'integer', minimum: 0 }, label: { type: 'string' } },
      required: ['chars'],
    },
    run: (wanted: WantedResult) => resultOf(wanted),
  });
