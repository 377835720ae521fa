import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, loadConfig, readKubeconfig } from '../index.js';
import { faultsOf, keyOf, useConfigFolders } from '../testing/config-folders.js';

const folderWith = useConfigFolders();
const load = (yaml: string, env: Record<string, string> = {}): Config => loadConfig(env, folderWith(yaml));
const kubernetesOf = (yaml: string, env: Record<string, string> = {}) =>
  load(`sandbox: {kubernetes: ${yaml}}`, env).sandbox.kubernetes;

describe('sandbox.kubernetes', () => {
  test('has a value for everything that an installation need not say', () => {
    expect(load('').sandbox.kubernetes).toEqual({
      installation: 'caribou',
      namespace: 'caribou-sandboxes',
      imagePullPolicy: 'IfNotPresent',
      imagePullSecrets: [],
      userNamespaces: 'auto',
      nodeSelector: {},
      tolerations: [],
      warmPods: 0,
      startMs: 120_000,
      agentPort: 7_777,
      proxyPort: 3_129,
      workspaceBytes: 4_294_967_296,
      requireNetworkPolicy: true,
    });
  });

  test('takes labels and taints of nodes as they are written', () => {
    const section = kubernetesOf(
      '{node_selector: {pool.example.org/kind: sandbox_a}, tolerations: [{key: sandbox, operator: Exists, effect: NoSchedule}], user_namespaces: true}',
    );

    expect(section).toMatchObject({
      nodeSelector: { 'pool.example.org/kind': 'sandbox_a' },
      tolerations: [{ key: 'sandbox', operator: 'Exists', effect: 'NoSchedule' }],
      userNamespaces: true,
    });
  });

  test('refuses values that no cluster takes, each by its key', () => {
    const wrong =
      '{namespace: Not_A_Name, runtime_class: "g visor", warm_pods: -1, agent_port: 80, start_ms: 0, image_pull_policy: Sometimes, workspace_bytes: 1, kubeconfig: here, tolerations: [{key: "a b"}]}';

    expect(
      faultsOf(() => kubernetesOf(wrong))
        .map(keyOf)
        .sort(),
    ).toEqual(
      [
        'agent_port',
        'image_pull_policy',
        'kubeconfig',
        'namespace',
        'runtime_class',
        'start_ms',
        'tolerations[0].key',
        'warm_pods',
        'workspace_bytes',
      ].map((key) => `sandbox.kubernetes.${key}`),
    );
  });

  test('needs two ports, and as much disk as a thread may take', () => {
    expect(faultsOf(() => kubernetesOf('{agent_port: 4000, proxy_port: 4000}'))).toEqual([
      'sandbox.kubernetes.proxy_port: agent_port and proxy_port must differ',
    ]);
    expect(
      faultsOf(() =>
        load('sandbox: {limits: {workspace_bytes: 5000000000}, kubernetes: {workspace_bytes: 4000000000}}'),
      ),
    ).toEqual(['sandbox.kubernetes.workspace_bytes: must be at least sandbox.limits.workspace_bytes']);
  });

  test('knows the address of its pod by the downward API, unless the file names another one', () => {
    const env = { CARIBOU_POD_IP: '10.1.2.3' };

    expect(kubernetesOf('{}', env).proxyHost).toBe('10.1.2.3');
    expect(kubernetesOf('{proxy_host: proxy.example}', env).proxyHost).toBe('proxy.example');
    expect(faultsOf(() => load('', { CARIBOU_POD_IP: 'pod-1' }))).toEqual(['CARIBOU_POD_IP: must be an IP address']);
  });
});

describe('readKubeconfig', () => {
  const fileWith = (text: string): string => {
    const path = join(folderWith(), 'kubeconfig');
    writeFileSync(path, text);
    return path;
  };
  const config = (cluster: string, user: string): string => `
current-context: there
contexts: [{name: there, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "https://10.0.0.1:6443/", ${cluster}}}]
users: [{name: u, user: {${user}}}]
`;
  const encoded = (text: string): string => Buffer.from(text).toString('base64');

  test('reads server, authority and what proves who asks', () => {
    const path = fileWith(
      config(
        `certificate-authority-data: ${encoded('authority')}`,
        `client-certificate-data: ${encoded('certificate')}, client-key-data: ${encoded('key')}, token: secret`,
      ),
    );

    const access = readKubeconfig(path);

    expect(access).toMatchObject({ server: 'https://10.0.0.1:6443', ca: 'authority', cert: 'certificate' });
    expect([access.key?.reveal(), access.token?.reveal()]).toEqual(['key', 'secret']);
    expect(JSON.stringify(access)).not.toContain('secret"');
  });

  test('finds files beside itself', () => {
    const path = fileWith(config('certificate-authority: ca.pem', 'tokenFile: token'));
    writeFileSync(join(path, '..', 'ca.pem'), 'from a file');

    expect(readKubeconfig(path)).toMatchObject({ ca: 'from a file', tokenFile: join(path, '..', 'token') });
  });

  test('says what is missing or not supported, and never what is in the file', () => {
    const faults = (text: string): string => faultsOf(() => readKubeconfig(fileWith(text))).join();

    expect(faultsOf(() => readKubeconfig('/none/of/this'))).toEqual([
      'sandbox.kubernetes.kubeconfig: cannot be read (ENOENT)',
    ]);
    expect(faults('token: [secret')).toBe('sandbox.kubernetes.kubeconfig: the file is not valid YAML');
    expect(faults('clusters: []')).toContain('sandbox.kubernetes.kubeconfig: current-context: ');
    expect(faults(config('', 'exec: {command: aws}'))).toContain('exec and auth-provider are not supported');
    expect(faults(config('insecure-skip-tls-verify: true', ''))).toContain('name certificate-authority');
    expect(faults(config('', '').replace('cluster: c,', 'cluster: other,'))).toContain('clusters has no entry "other"');
  });
});
