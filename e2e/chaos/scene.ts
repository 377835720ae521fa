import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startScriptedMcp, type TestService, waitFor } from '@caribou/testing';
import { type Stack, startStack } from '../support/stack.js';
import { MODELS } from './collect-history.js';
import { type ChaosStore, startChaosStore } from './files/object-store.js';
import { type Member, startFleet } from './fleet.js';
import type { ProviderCall } from './history.js';
import { payTool } from './pay-tool.js';
import type { FleetSize } from './plan.js';
import { providerCallOf } from './provider-calls.js';

/** Half of each request is reported as read from the provider's cache. */
const CACHED_SHARE = 0.5;
const MODEL_LINES = Object.entries(MODELS).map(
  ([name, model]) => `  - {name: ${name}, model: ${model}, pricing: {input: 2, cached_input: 1, output: 8}}\n`,
);
const CONFIG = `models:
${MODEL_LINES.join('')}title: {model_name: small}
memory:
  model_name: small
  debounce_seconds: 1
  max_facts: 500
  retry_base_delay_ms: 200
  retry_cap_delay_ms: 1000
tool_search: {enabled: false}
`;
export interface Scene {
  readonly stack: Stack;
  readonly fleet: readonly Member[];
  /** Where files are, when there is more than one machine. */
  readonly store: ChaosStore | undefined;
  readonly paid: readonly string[];
  /** The complete answers of the scripted model so far. */
  readonly answered: readonly ProviderCall[];
  readonly close: () => Promise<void>;
}

export interface SceneSize {
  readonly seed: number;
  readonly fleet: FleetSize;
  /** With more than one, files are in an object store. */
  readonly machines: number;
}

export async function setScene({ seed, fleet: size, machines }: SceneSize): Promise<Scene> {
  const folder = await mkdtemp(join(tmpdir(), 'caribou-chaos-'));
  const paid: string[] = [];
  const mcp = await startScriptedMcp({ tools: { pay: payTool(paid) } });
  const path = join(folder, 'extensions_config.json');
  await writeFile(path, JSON.stringify({ mcpServers: { effects: { type: 'http', url: mcp.url } } }));
  const none = { gateways: 0, runners: 0, managers: 0 };
  // With `everysec` a killed Redis may have answered writes that are not in its file (docs/guarantees.md).
  const env = { CARIBOU_EXTENSIONS_CONFIG: path };
  const answered: ProviderCall[] = [];
  const model = {
    cachedShare: CACHED_SHARE,
    onAnswered: (...[request, tokens]: Parameters<typeof providerCallOf>) =>
      void answered.push(providerCallOf(request, tokens)),
  };
  const store = machines > 1 ? await startChaosStore(seed) : undefined;
  const config = `${CONFIG}${store?.config ?? ''}`;
  const stack = await startStack({ ...none, config, env, model, fsync: 'always' });
  const fleet = await startFleet(stack, size, machines);
  const close = async (): Promise<void> => {
    try {
      await stack.stop();
    } finally {
      await Promise.all([mcp.close(), store?.stop(), ...fleet.map((member) => member.stopLinks())]);
      await rm(folder, { recursive: true, force: true });
    }
  };
  const isReady = async (): Promise<boolean> =>
    (await Promise.all(fleet.map(async ({ service }) => await service?.ready()))).every(
      (answer) => answer?.ok === true,
    );
  await waitFor(isReady, { what: 'all services to be ready', timeoutMs: 120_000, everyMs: 100 });
  return { stack, fleet, store, paid, answered, close };
}

/** The gateways that have been started, for clients. */
export const gatewaysOf =
  ({ fleet }: Scene) =>
  (): readonly TestService[] =>
    fleet.flatMap(({ app, service }) => (app === 'gateway' && service !== undefined ? [service] : []));
