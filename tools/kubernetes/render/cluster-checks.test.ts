import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '@caribou/testing';
import { findHelm, renderChart } from './helm.js';
import { type LookupServer, startLookupServer } from './lookup-server.js';
import { valuesFile } from './value-sets.js';

const helm = findHelm();
if (helm === undefined)
  console.warn('skipped: what the chart asks a cluster for (no program helm; node tools/launcher/helm.mjs builds it)');
const withHelm = helm === undefined ? describe.skip : describe;

const folder = temporaryFolder();

const secret = (...keys: readonly string[]) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'any' },
  data: Object.fromEntries(keys.map((key) => [key, ''])),
});
const object = (apiVersion: string, kind: string) => ({ apiVersion, kind, metadata: { name: 'any' } });

const servers = ['NATS_URL', 'REDIS_URL'];
const bucket = ['S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY'];

/** All that the values of production name. */
const complete: Readonly<Record<string, object>> = {
  'namespaces/default': object('v1', 'Namespace'),
  'namespaces/caribou/secrets/caribou-gateway': secret(...servers, ...bucket, 'CARIBOU_API_KEYS', 'OPENAI_API_KEY'),
  'namespaces/caribou/secrets/caribou-agent-runner': secret(...servers, 'OPENAI_API_KEY'),
  'namespaces/caribou/secrets/caribou-memory-worker': secret(...servers, 'OPENAI_API_KEY'),
  'namespaces/caribou/secrets/caribou-subagent-pool': secret(...servers, 'OPENAI_API_KEY'),
  'namespaces/caribou/secrets/caribou-sandbox-manager': secret(...servers, ...bucket),
  'namespaces/caribou/secrets/caribou-monitoring': secret('key'),
  'runtimeclasses/gvisor': object('node.k8s.io/v1', 'RuntimeClass'),
};

const without = (path: string) => Object.fromEntries(Object.entries(complete).filter(([name]) => name !== path));

withHelm('connected to a cluster, the chart', () => {
  let server: LookupServer | undefined;
  afterEach(() => server?.close());

  /** What it says about the values of production in a cluster with these objects; undefined when it renders. */
  async function refusalIn(objects: Readonly<Record<string, object>>, sets: readonly string[] = []) {
    server = await startLookupServer(objects);
    const cluster = join(folder, 'kubeconfig');
    writeFileSync(cluster, server.kubeconfig);
    const rendered = await renderChart(helm ?? '', { files: [valuesFile('production')], sets, cluster });
    return 'refusal' in rendered ? rendered.refusal : undefined;
  }

  test('renders when everything is there', async () => {
    expect(await refusalIn(complete)).toBeUndefined();
  });

  test.each<[string, string, string]>([
    [
      'a Secret',
      'namespaces/caribou/secrets/caribou-agent-runner',
      'agentRunner.existingSecret: there is no Secret caribou-agent-runner in namespace caribou',
    ],
    [
      'the key for monitoring',
      'namespaces/caribou/secrets/caribou-monitoring',
      'monitoring.podMonitor.gatewayKeySecret: there is no Secret caribou-monitoring',
    ],
    ['the runtime class', 'runtimeclasses/gvisor', 'sandboxes.runtimeClass: there is no RuntimeClass gvisor'],
  ])('refuses a cluster without %s', async (_what, path, sentence) => {
    expect(await refusalIn(without(path))).toContain(sentence);
  });

  test('names the key that a Secret lacks', async () => {
    const objects = {
      ...complete,
      'namespaces/caribou/secrets/caribou-gateway': secret(...servers, ...bucket, 'CARIBOU_API_KEYS'),
    };
    expect(await refusalIn(objects)).toContain(
      'gateway.existingSecret: the Secret caribou-gateway has no key OPENAI_API_KEY',
    );
  });

  test.each<[string, string, string]>([
    [
      'a class of volumes',
      'sandboxManager.homeStorageClass="fast"',
      'sandboxManager.homeStorageClass: there is no StorageClass fast',
    ],
    [
      'a class of priority',
      'services.priorityClassName="high"',
      'memoryWorker.priorityClassName: there is no PriorityClass high',
    ],
    [
      'the namespace of sandboxes',
      'sandboxes.createNamespace=false',
      'sandboxes.namespace: there is no namespace caribou-sandboxes',
    ],
    ['the Secret of TLS', 'nats.tls.existingSecret="nats-tls"', 'nats.tls.existingSecret: there is no Secret nats-tls'],
  ])('refuses a cluster without %s', async (_what, set, sentence) => {
    expect(await refusalIn(complete, [set])).toContain(sentence);
  });

  test('asks for nothing with clusterChecks off', async () => {
    expect(
      await refusalIn({ 'namespaces/default': object('v1', 'Namespace') }, ['clusterChecks=false']),
    ).toBeUndefined();
  });
});
