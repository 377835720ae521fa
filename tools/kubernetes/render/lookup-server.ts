import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What the server knows of a kind: where its objects are, and whether they have namespaces. */
const RESOURCES = [
  { version: 'v1', kind: 'Namespace', name: 'namespaces', namespaced: false },
  { version: 'v1', kind: 'Secret', name: 'secrets', namespaced: true },
  { version: 'v1', kind: 'PersistentVolumeClaim', name: 'persistentvolumeclaims', namespaced: true },
  { version: 'node.k8s.io/v1', kind: 'RuntimeClass', name: 'runtimeclasses', namespaced: false },
  { version: 'scheduling.k8s.io/v1', kind: 'PriorityClass', name: 'priorityclasses', namespaced: false },
  { version: 'storage.k8s.io/v1', kind: 'StorageClass', name: 'storageclasses', namespaced: false },
] as const;

export interface LookupServer {
  /** The text of a kubeconfig that leads to it. */
  readonly kubeconfig: string;
  close(): Promise<void>;
}

/**
 * Starts a server that answers what helm asks an API server for while it renders: its version, its kinds and single objects.
 *
 * @param objects by their paths without the version, such as `namespaces/caribou/secrets/caribou-gateway`
 */
export async function startLookupServer(objects: Readonly<Record<string, object>>): Promise<LookupServer> {
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? '/', 'http://localhost').pathname;
    const answer = discover(path) ?? objects[objectPath(path)];
    response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify(answer ?? { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'NotFound', code: 404 }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { kubeconfig: kubeconfigOf(`http://127.0.0.1:${port}`), close: () => closeServer(server) };
}

const closeServer = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });

/** `/apis/node.k8s.io/v1/runtimeclasses/gvisor` is `runtimeclasses/gvisor`. */
const objectPath = (path: string): string => path.replace(/^\/(api\/v1|apis\/[^/]+\/[^/]+)\//, '');

function discover(path: string): object | undefined {
  if (path === '/version') return { major: '1', minor: '34', gitVersion: 'v1.34.0' };
  if (path === '/api') return { kind: 'APIVersions', versions: ['v1'] };
  const versions = RESOURCES.filter(({ version }) => version.includes('/')).map(({ version }) => version);
  if (path === '/apis') return { kind: 'APIGroupList', apiVersion: 'v1', groups: versions.map(groupOf) };
  const groupVersion = ['v1', ...versions].find(
    (version) => path === `/${version === 'v1' ? 'api' : 'apis'}/${version}`,
  );
  if (groupVersion === undefined) return undefined;
  const resources = RESOURCES.filter(({ version }) => version === groupVersion).map((resource) => ({
    ...{ name: resource.name, singularName: '', kind: resource.kind },
    ...{ namespaced: resource.namespaced, verbs: ['get', 'list'] },
  }));
  return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion, resources };
}

function groupOf(groupVersion: string): object {
  const [name = '', version = ''] = groupVersion.split('/');
  return { name, versions: [{ groupVersion, version }], preferredVersion: { groupVersion, version } };
}

const kubeconfigOf = (server: string): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'lookup', cluster: { server } }],
    users: [{ name: 'lookup', user: {} }],
    contexts: [{ name: 'lookup', context: { cluster: 'lookup', user: 'lookup' } }],
    'current-context': 'lookup',
  });
