import { systemClock } from '@caribou/core';
import { FakeApiServer, testSandboxSettings } from '@caribou/testing';
import type { SandboxSettings } from '../drivers/settings.js';
import { ApiConnection } from '../kubernetes/api/api-connection.js';
import { type PodsApi, podsApi } from '../kubernetes/api/pods-api.js';
import { type PodIdentity, podManifest } from '../kubernetes/pods/pod-spec.js';

export const NAMESPACE = 'caribou-sandboxes';
/** Retries without a pause. */
export const quickClock = { ...systemClock, sleep: () => Promise.resolve() };

export interface ApiFixture {
  readonly server: FakeApiServer;
  readonly connection: ApiConnection;
  readonly api: PodsApi;
  close(): Promise<void>;
}

/** A fake API server and a client of it that repeats without pauses. */
export async function openApi(): Promise<ApiFixture> {
  const server = await new FakeApiServer({ namespace: NAMESPACE }).start();
  const connection = new ApiConnection({ server: server.url, token: () => Promise.resolve(server.token) });
  const api = podsApi(connection, NAMESPACE, { clock: quickClock, random: () => 0 });
  const close = async (): Promise<void> => {
    connection.close();
    await server.stop();
  };
  return { server, connection, api, close };
}

export const kubernetesSettings = (changes: Partial<SandboxSettings['kubernetes']> = {}): SandboxSettings => {
  const settings = testSandboxSettings('/none');
  return { ...settings, kubernetes: { ...settings.kubernetes, ...changes } };
};

/** What the API is sent for a pod of that name. */
export const manifestOf = (name: string, identity: Partial<PodIdentity> = {}) =>
  podManifest(kubernetesSettings(), {
    ...{ name, labels: {}, annotations: {}, agentEnvironment: {}, hasUserNamespace: false, user: 10_001 },
    ...identity,
  });
