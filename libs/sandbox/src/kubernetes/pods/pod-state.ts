import type { Pod } from '../api/pod.js';
import { CONTAINER } from './pod-spec.js';

/** What a pod is doing, as far as sandboxes are concerned. */
export type PodState =
  | { readonly kind: 'starting'; readonly why: string }
  /** It cannot start, and waiting will not change that. */
  | { readonly kind: 'failed'; readonly why: string }
  | { readonly kind: 'running'; readonly address: string }
  /** Its agent has ended, it is being deleted, or its node is gone. */
  | { readonly kind: 'ended'; readonly why: string };

/** Reasons of a waiting container that no time changes. */
const HOPELESS: ReadonlySet<string> = new Set([
  'ImagePullBackOff',
  'InvalidImageName',
  'ErrImageNeverPull',
  'CreateContainerConfigError',
  'CreateContainerError',
  'RunContainerError',
  'CrashLoopBackOff',
]);
const MAX_TEXT = 400;
const OUT_OF_MEMORY = 'OOMKilled';

const join = (...parts: (string | undefined)[]): string =>
  parts
    .filter((part) => part !== undefined && part !== '')
    .join(': ')
    .slice(0, MAX_TEXT);

/** The state of a pod by its status. */
export function stateOf(pod: Pod): PodState {
  const { status, metadata } = pod;
  const ended = endOf(pod);
  if (ended !== undefined) return { kind: 'ended', why: ended };
  if (metadata.deletionTimestamp !== undefined) return { kind: 'ended', why: 'the pod is being deleted' };
  const container = status.containerStatuses.find(({ name }) => name === CONTAINER);
  const waiting = container?.state.waiting;
  if (waiting?.reason !== undefined && HOPELESS.has(waiting.reason))
    return { kind: 'failed', why: join(waiting.reason, waiting.message) };
  if (status.phase === 'Running' && status.podIP !== undefined && container?.state.running !== undefined)
    return { kind: 'running', address: status.podIP };
  return { kind: 'starting', why: reasonOfWaiting(pod) };
}

/** Why the pod has ended; undefined while it has not. */
function endOf({ status }: Pod): string | undefined {
  if (status.reason === 'Evicted') return join('the pod was evicted', status.message);
  if (status.reason === 'NodeLost' || status.phase === 'Unknown')
    return join('the node of the pod is lost', status.message);
  const terminated = status.containerStatuses.find(({ name }) => name === CONTAINER)?.state.terminated;
  if (terminated?.reason === OUT_OF_MEMORY) return 'the memory of the sandbox (sandbox.limits.memory_bytes) is used up';
  const isDisrupted = status.conditions.find(({ type, status: is }) => type === 'DisruptionTarget' && is === 'True');
  if (isDisrupted !== undefined)
    return join('the pod is ended by the cluster', isDisrupted.reason, isDisrupted.message);
  if (terminated !== undefined)
    return join(`the agent has ended with code ${terminated.exitCode}`, terminated.reason, terminated.message);
  if (status.phase === 'Failed' || status.phase === 'Succeeded')
    return join('the pod has ended', status.reason, status.message);
  return undefined;
}

/** What a pod that has not started waits for. */
function reasonOfWaiting({ status }: Pod): string {
  const scheduled = status.conditions.find(({ type }) => type === 'PodScheduled');
  if (scheduled?.status === 'False') return join('no node can run the pod', scheduled.reason, scheduled.message);
  const waiting = status.containerStatuses.find(({ name }) => name === CONTAINER)?.state.waiting;
  if (waiting !== undefined) return join('the container waits', waiting.reason, waiting.message);
  return `the pod is ${status.phase ?? 'new'}`;
}

/** Whether the pod was ended for want of memory. */
export const isOutOfMemory = ({ status }: Pod): boolean =>
  status.containerStatuses.find(({ name }) => name === CONTAINER)?.state.terminated?.reason === OUT_OF_MEMORY;
