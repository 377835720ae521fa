import { waitFor } from '@caribou/testing';
import { CommandError, isReady, Kubectl, type PodObject } from './kubectl.js';
import { clusterSettings, missingCluster } from './settings.js';

const missing = missingCluster();
const NAMESPACE = 'caribou-cluster-test';
const POD_MS = 90_000;
const PORT = 8080;

jest.setTimeout(5 * 60_000);

/** The chart and the driver rely on these: where a cluster lacks one, tests of theirs would show something else than they say. */
(missing === null ? describe : describe.skip)(`the cluster${missing === null ? '' : ` (skipped: ${missing})`}`, () => {
  const settings = missing === null ? clusterSettings() : undefined;
  const kubectl = new Kubectl(settings?.kubectl ?? '', settings?.kubeconfig ?? '');

  const pod = (name: string, command: readonly string[], security: object = restricted): object => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: NAMESPACE, labels: { app: name } },
    spec: {
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 1,
      containers: [
        { name: 'main', image: settings?.images.sandbox, imagePullPolicy: 'Never', command, securityContext: security },
      ],
    },
  });
  const restricted = {
    runAsNonRoot: true,
    runAsUser: 10_001,
    allowPrivilegeEscalation: false,
    capabilities: { drop: ['ALL'] },
    seccompProfile: { type: 'RuntimeDefault' },
  };
  const ready = (app: string): Promise<PodObject> =>
    waitFor(async () => (await kubectl.pods(NAMESPACE, `app=${app}`)).find(isReady), {
      what: `the pod ${app}`,
      timeoutMs: POD_MS,
      everyMs: 300,
    });
  /** What a pod gets from an address; an error when there is no connection within two seconds. */
  const fetched = (url: string): Promise<string> =>
    kubectl.run(['exec', '-n', NAMESPACE, 'client', '--', 'curl', '-sS', '--max-time', '2', url]);

  beforeAll(async () => {
    const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
    await kubectl.apply([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE, labels } }]);
    await waitFor(() => kubectl.run(['get', 'serviceaccount', '-n', NAMESPACE, 'default']), {
      what: 'an account',
      timeoutMs: POD_MS,
    });
    await kubectl.apply([
      pod('server', ['python3', '-m', 'http.server', String(PORT), '--directory', '/usr/share']),
      pod('client', ['sleep', 'infinity']),
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'server', namespace: NAMESPACE },
        spec: { selector: { app: 'server' }, ports: [{ port: PORT }] },
      },
    ]);
    await Promise.all([ready('server'), ready('client')]);
  });

  afterAll(async () => {
    await kubectl.run(['delete', 'namespace', NAMESPACE, '--wait=false']);
  });

  test('a pod reaches a Service by its name', async () => {
    const answer = await waitFor(() => fetched(`http://server.${NAMESPACE}.svc.cluster.local:${PORT}/`), {
      what: 'an answer of the Service',
      timeoutMs: 30_000,
      everyMs: 300,
    });

    expect(answer).toContain('Directory listing');
  });

  test('a NetworkPolicy is enforced, also between pods of one node, and its end is', async () => {
    const policy = { podSelector: { matchLabels: { app: 'server' } }, policyTypes: ['Ingress'], ingress: [] };
    const object = { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', spec: policy };
    await kubectl.apply([{ ...object, metadata: { name: 'closed', namespace: NAMESPACE } }]);
    const { podIP } = (await ready('server')).status;
    const url = `http://${podIP}:${PORT}/`;

    await waitFor(
      () =>
        fetched(url).then(
          () => false,
          (error: unknown) => error instanceof CommandError,
        ),
      {
        what: 'a connection that is refused',
      },
    );
    await kubectl.run(['delete', 'networkpolicy', '-n', NAMESPACE, 'closed']);
    await expect(waitFor(() => fetched(url), { what: 'a connection' })).resolves.toContain('listing');
  });

  test('pod security "restricted" refuses a pod with rights', async () => {
    await expect(kubectl.apply([pod('root', ['true'], { privileged: true })])).rejects.toThrow(/violates PodSecurity/);
  });

  test('a ResourceQuota refuses a further pod', async () => {
    const quota = { apiVersion: 'v1', kind: 'ResourceQuota', spec: { hard: { pods: '2' } } };
    await kubectl.apply([{ ...quota, metadata: { name: 'two', namespace: NAMESPACE } }]);
    const refused = () => kubectl.apply([pod('third', ['true'])]).then(() => '', String);

    await expect(waitFor(async () => /exceeded quota/.test(await refused()), { what: 'a refusal' })).resolves.toBe(
      true,
    );
  });
});
