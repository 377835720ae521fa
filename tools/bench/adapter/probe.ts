import type { createModelCatalog } from '@caribou/models';

/**
 * Reads answers by the model adapter of a build and prints its CPU time per token, in microseconds. Arguments: the compiled
 * libs/models of that build, the base URL of the token server, the protocol, the number of answers.
 */
const [library = '', baseUrl = '', protocol = '', answers = '1'] = process.argv.slice(2);

const TOKENS = 2_000;
const WARM_UP_ANSWERS = 30;
const silent = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
const clocks = { modelConnectMs: 5_000, modelFirstByteMs: 30_000, modelChunkMs: 30_000 };

type Adapter = { readonly createModelCatalog: typeof createModelCatalog };

async function main(): Promise<void> {
  const { createModelCatalog: create } = (await import(library)) as Adapter;
  const config = {
    ...{ name: 'm', displayName: 'm', description: '', model: 'm-1', protocol, dialect: 'generic', baseUrl },
    ...{ supportsThinking: false, supportsVision: false, supportsReasoningEffort: false, sendReasoning: false },
    ...{ fallbacks: [], headers: {}, body: {}, maxTokens: 4_096 },
  };
  const logger = { ...silent, child: () => logger };
  const model = create([config as never], { clocks, logger }).get('m');
  const read = async (count: number): Promise<void> => {
    for (let answer = 0; answer < count; answer += 1) {
      const call = { system: 's', messages: [], tools: [] };
      const options = { signal: new AbortController().signal, userId: 'bench' };
      let chars = 0;
      for await (const { content = '', toolCallChunks = [] } of model.stream(call, options))
        chars += content.length + toolCallChunks.reduce((sum, { args }) => sum + args.length, 0);
      if (chars < TOKENS * 4) throw new Error(`an answer had ${chars} characters`);
    }
  };
  await read(WARM_UP_ANSWERS);
  const before = process.cpuUsage();
  await read(Number(answers));
  const { user, system } = process.cpuUsage(before);
  process.stdout.write(String((user + system) / (Number(answers) * TOKENS)));
  process.exit(0);
}

void main();
