import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { AppError, newId, UnavailableError } from '@caribou/contracts';
import { systemClock } from '@caribou/core';
import type { CommandResult, Probe } from '../drivers/driver.js';
import type { SandboxSettings } from '../drivers/settings.js';
import { ApiFailure } from './api/api-failure.js';
import type { PodRight, PodsApi } from './api/pods-api.js';
import type { Cluster } from './cluster.js';
import type { PodEgress } from './egress/pod-egress.js';
import { openPodSession, type PodSession } from './pod-session.js';
import { NO_FILES } from './pods/no-files.js';
import { idLabel, POD_ANNOTATION, POD_LABEL } from './pods/pod-names.js';
import { PodStartError } from './pods/pod-starter.js';

export interface ProbedCluster {
  readonly settings: SandboxSettings;
  readonly cluster: Cluster;
  readonly egress: PodEgress | undefined;
}

/** What a probe finds out besides its verdict. */
export interface ProbeResult {
  readonly probe: Probe;
  /** Whether pods get a user namespace of their own. */
  readonly hasUserNamespace: boolean;
}

const VERBS: readonly PodRight['verb'][] = ['create', 'get', 'list', 'watch', 'patch', 'delete'];
const COMMAND_MS = 30_000;
/** Uids of the whole machine: there is no user namespace. */
const WHOLE_MACHINE = /^\s*0\s+0\s+4294967295$/m;
const FIELD = 'sandbox.kubernetes';

/** Whether commands can run in pods of a cluster, tried with a pod. Never throws. */
export async function probeCluster(probed: ProbedCluster): Promise<ProbeResult> {
  try {
    await requireRights(probed.cluster.api, probed.settings);
    return await tryPods(probed);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { probe: { ok: false, reason: error.message }, hasUserNamespace: false };
  }
}

/** @throws {UnavailableError} that names the rights that are missing */
async function requireRights(api: PodsApi, { kubernetes }: SandboxSettings): Promise<void> {
  const answers = await Promise.all(VERBS.map(async (verb) => ({ verb, isAllowed: await api.mayI({ verb }) })));
  const missing = answers.filter(({ isAllowed }) => !isAllowed).map(({ verb }) => verb);
  if (missing.length > 0)
    throw failure(
      `the service account of the sandbox-manager lacks the verbs ${missing.join(', ')} on "pods" in namespace ${kubernetes.namespace}`,
    );
}

/** Tries the kinds of pods that the settings allow, the better one first. @throws {UnavailableError} */
async function tryPods(probed: ProbedCluster): Promise<ProbeResult> {
  const { userNamespaces } = probed.settings.kubernetes;
  if (userNamespaces !== 'auto') return tryPod(probed, userNamespaces);
  try {
    return await tryPod(probed, true);
  } catch (error) {
    const isRefused = error instanceof ApiFailure && error.isRefused && !error.isTransient;
    if (!(error instanceof PodStartError) && !isRefused) throw error;
    return tryPod(probed, false);
  }
}

async function tryPod(probed: ProbedCluster, hasUserNamespace: boolean): Promise<ProbeResult> {
  const { cluster, settings } = probed;
  const sandbox = { sandboxId: `probe-${newId()}`, managerId: cluster.managerId, userId: 'probe', threadId: 'probe' };
  const pod = await cluster.starter.start({
    prefix: 'caribou-probe',
    labels: { [POD_LABEL.trial]: 'true', [POD_LABEL.manager]: idLabel(cluster.managerId) },
    annotations: { [POD_ANNOTATION.manager]: cluster.managerId },
    hasUserNamespace,
    isTrial: true,
  });
  let session: PodSession | undefined;
  try {
    session = await openPodSession({
      ...{ sandbox, pod, settings: { ...settings, mayStart: () => true }, ownUsers: true },
      ...{ mirror: await NO_FILES.open(sandbox), skills: NO_FILES, egress: probed.egress, clock: systemClock },
    });
    const { hasUsers, isolation } = await tryCommands(session, probed, hasUserNamespace);
    const users = hasUsers ? 'a user namespace each' : 'a user each';
    const detail = `kubernetes: namespace ${settings.kubernetes.namespace}, ${users}, ${isolation}`;
    return { probe: { ok: true, detail }, hasUserNamespace: hasUsers };
  } finally {
    await session?.close();
    await cluster.remover.remove(pod);
  }
}

async function tryCommands(session: PodSession, probed: ProbedCluster, wantsUsers: boolean) {
  const first = await run(session, 'id -u; cat /proc/self/uid_map; echo ok > probe && cat probe');
  const [uid] = first.stdout.split('\n');
  if (first.exitCode !== 0 || uid !== String(session.pod.user) || !first.stdout.endsWith('ok\n'))
    throw failure(`a trial command answered ${first.exitCode}: ${first.stdout}${first.stderr}`.slice(0, 300));
  const hasUsers = !WHOLE_MACHINE.test(first.stdout);
  const { userNamespaces } = probed.settings.kubernetes;
  if (wantsUsers && !hasUsers && userNamespaces === true)
    throw failure(`${FIELD}.user_namespaces: the nodes give pods no user namespace of their own`);
  return { hasUsers: wantsUsers && hasUsers, isolation: await tryNetwork(session, probed) };
}

/** Tries what a network policy has to forbid, and what it has to allow. @throws {UnavailableError} */
async function tryNetwork(session: PodSession, { settings, egress }: ProbedCluster): Promise<string> {
  const { requireNetworkPolicy, proxyHost, namespace } = settings.kubernetes;
  if (proxyHost === undefined) {
    if (requireNetworkPolicy || egress !== undefined)
      throw failure(`${FIELD}.proxy_host or CARIBOU_POD_IP must be the address by which pods reach this process`);
    return 'network policy not tried';
  }
  if (egress !== undefined && !(await reaches(session, proxyHost, await egress.listen())))
    throw failure(
      `the network policy of namespace ${namespace} must allow sandboxes to connect to ${FIELD}.proxy_port of the sandbox-managers`,
    );
  const forbidden = await listenAnywhere();
  try {
    const isOpen = await reaches(session, proxyHost, (forbidden.address() as AddressInfo).port);
    if (isOpen && requireNetworkPolicy)
      throw failure(
        `a sandbox can connect to any port of the sandbox-manager: the cluster does not enforce the network policy of namespace ${namespace} (${FIELD}.require_network_policy: false accepts that)`,
      );
    return isOpen ? 'NO network policy' : 'network policy enforced';
  } finally {
    forbidden.close();
  }
}

async function listenAnywhere(): Promise<Server> {
  const server = createServer((socket) => socket.on('error', () => socket.destroy()).end());
  server.listen(0);
  await once(server, 'listening');
  return server;
}

/** Whether a connection from the pod is accepted; by bash, or by nc where there is no bash. */
async function reaches(session: PodSession, host: string, port: number): Promise<boolean> {
  const bash = `timeout 3 /bin/bash -c 'exec 3<>/dev/tcp/${host}/${port}'`;
  const tries = `if [ -x /bin/bash ]; then ${bash}; else nc -w 3 -z ${host} ${port}; fi && echo open`;
  const { stdout } = await run(session, `(${tries}) 2>/dev/null`);
  return stdout.includes('open');
}

const run = ({ client, egress }: PodSession, command: string): Promise<CommandResult> =>
  client.exec(
    { command, timeoutMs: COMMAND_MS, maxOutputBytes: 4_096 },
    { egress, skills: undefined },
    new AbortController().signal,
  );

const failure = (text: string): UnavailableError =>
  new UnavailableError(text, { details: { dependency: 'kubernetes' } });
