import { startFleet } from '../fleet.js';
import { type LoadResult, measureLoads, simpleTurn } from '../load.js';
import { langGraphTarget } from '../turns.js';

/** Configurations with the shortest and the longest chain. */
const CONFIGS = {
  least: `title: {enabled: false}
token_usage: {enabled: false}
tool_output: {enabled: false}
loop_detection: {enabled: false}
read_before_write: {enabled: false}
safety_finish_reason: {enabled: false}
clarification: {enabled: false}
input_sanitization: {enabled: false}
memory: {enabled: false}
goals: {enabled: false}
`,
  most: `summarization: {enabled: true}
tool_search: {enabled: true}
token_budget: {enabled: true}
`,
} as const;

export interface FleetLoad {
  readonly warmUp: number;
  readonly turns: number;
  readonly concurrency: number;
}

/** Simple turns of a whole system with the shortest chain, then of one with the longest. */
export const chainTurns = (load: FleetLoad): Promise<readonly LoadResult[]> => turnsWith(CONFIGS, load);

/** Simple turns of a whole system with each of the configurations, which are lines of config.yaml. */
export async function turnsWith(
  configs: Readonly<Record<string, string>>,
  { warmUp, turns, concurrency }: FleetLoad,
): Promise<readonly LoadResult[]> {
  const results: LoadResult[] = [];
  for (const [name, config] of Object.entries(configs)) {
    const fleet = await startFleet({ config });
    try {
      const target = { ...langGraphTarget('caribou', fleet.apiUrl), name: `caribou, ${name}` };
      const subject = { target, pids: { ...fleet.services, ...fleet.servers } };
      const script = simpleTurn();
      await measureLoads([subject], { concurrency: 16, turns: warmUp, script });
      results.push(...(await measureLoads([subject], { concurrency, turns, script })));
    } finally {
      await fleet.stop();
    }
  }
  return results;
}
