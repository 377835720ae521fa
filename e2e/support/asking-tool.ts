import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Code of an operator that asks a person: the tool `ask_first` writes a line into `effects` after the answer, waits for a
 * file `gate` when the answer says so, and the middleware `asking` asks before the model is called when the run's switch says so.
 */
const SOURCE = `import { appendFile, access } from 'node:fs/promises';
import { join } from 'node:path';
const home = import.meta.dirname ?? new URL('.', import.meta.url).pathname;
export const askFirst = ({ defineTool, z }) => defineTool({
  name: 'ask_first',
  description: 'Asks a person, then has an effect.',
  input: z.object({ what: z.string() }),
  run: async ({ what }, { interrupt }) => {
    const answer = await interrupt({ value: { question: 'May I ' + what + '?' }, schema: { type: 'string' } });
    if (answer === 'no') return 'refused by a person';
    await appendFile(join(home, 'effects'), what + '\\n');
    while (answer === 'wait' && !(await access(join(home, 'gate')).then(() => true, () => false)))
      await new Promise((resolve) => setTimeout(resolve, 20));
    return 'did ' + what + ' as ' + JSON.stringify(answer);
  },
});
export const asking = ({ defineMiddleware }) => defineMiddleware({
  name: 'asking',
  beforeModel: async (_state, { interrupt, switches, log }) => {
    if (switches.ask_before_model !== true) return undefined;
    const answer = await interrupt({ value: 'go on?' });
    return { update: { title: 'answered ' + answer } };
  },
});
`;

export const ASKING_CONFIG = `extensions:
  middlewares:
    - ./asking.mjs#asking
tools:
  - name: ask_first
    use: ./asking.mjs#askFirst
`;

/** Writes the module beside the stack's configuration; services must be started afterwards. */
export const writeAskingModule = (homeDir: string): Promise<void> => writeFile(join(homeDir, 'asking.mjs'), SOURCE);

/** What the tool did so far, oldest first. */
export async function effectsIn(homeDir: string): Promise<readonly string[]> {
  const text = await readFile(join(homeDir, 'effects'), 'utf8').catch(() => '');
  return text.split('\n').filter((line) => line !== '');
}
