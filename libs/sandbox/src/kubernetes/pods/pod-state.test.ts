import { Pod } from '../api/pod.js';
import { isOutOfMemory, stateOf } from './pod-state.js';

const podOf = (status: object, metadata: object = {}): Pod =>
  Pod.parse({ metadata: { name: 'p', uid: 'u', resourceVersion: '1', ...metadata }, status });
const container = (state: object) => ({ containerStatuses: [{ name: 'sandbox', state }] });
const waiting = (reason: string, message?: string) => container({ waiting: { reason, message } });

describe('stateOf', () => {
  test('a pod runs when it has an address and its container runs', () => {
    const running = { phase: 'Running', podIP: '10.0.0.1', ...container({ running: {} }) };

    expect(stateOf(podOf(running))).toEqual({ kind: 'running', address: '10.0.0.1' });
    expect(stateOf(podOf({ ...running, podIP: undefined })).kind).toBe('starting');
    expect(stateOf(podOf(running, { deletionTimestamp: 'now' }))).toEqual({
      kind: 'ended',
      why: 'the pod is being deleted',
    });
  });

  test('a pod that waits says for what: the scheduler’s reason, an image, a container', () => {
    const unschedulable = {
      phase: 'Pending',
      conditions: [
        { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/3 nodes: insufficient cpu' },
      ],
    };

    expect(stateOf(podOf(unschedulable))).toEqual({
      kind: 'starting',
      why: 'no node can run the pod: Unschedulable: 0/3 nodes: insufficient cpu',
    });
    expect(stateOf(podOf(waiting('ErrImagePull', 'not found')))).toEqual({
      kind: 'starting',
      why: 'the container waits: ErrImagePull: not found',
    });
  });

  test.each([
    'ImagePullBackOff',
    'InvalidImageName',
    'ErrImageNeverPull',
    'CreateContainerConfigError',
    'RunContainerError',
  ])('a pod with %s will not start', (reason) => {
    expect(stateOf(podOf(waiting(reason, 'the text')))).toEqual({ kind: 'failed', why: `${reason}: the text` });
  });

  test('a pod that has ended says why: eviction, lost node, memory, disruption, its agent', () => {
    const why = (status: object): unknown => {
      const state = stateOf(podOf(status));
      return state.kind === 'ended' ? state.why : state;
    };
    const disrupted = {
      type: 'DisruptionTarget',
      status: 'True',
      reason: 'PreemptionByScheduler',
      message: 'preempted',
    };

    expect(why({ phase: 'Failed', reason: 'Evicted', message: 'Usage of EmptyDir exceeds the limit' })).toBe(
      'the pod was evicted: Usage of EmptyDir exceeds the limit',
    );
    expect(why({ phase: 'Unknown', reason: 'NodeLost', message: 'node n' })).toBe(
      'the node of the pod is lost: node n',
    );
    expect(why(container({ terminated: { exitCode: 137, reason: 'OOMKilled' } }))).toContain('memory_bytes');
    expect(why({ conditions: [disrupted], ...container({ terminated: { exitCode: 137 } }) })).toBe(
      'the pod is ended by the cluster: PreemptionByScheduler: preempted',
    );
    expect(why(container({ terminated: { exitCode: 1, reason: 'Error', message: 'no token' } }))).toBe(
      'the agent has ended with code 1: Error: no token',
    );
    expect(why({ phase: 'Failed', reason: 'DeadlineExceeded' })).toBe('the pod has ended: DeadlineExceeded');
  });
});

test('isOutOfMemory: only when the kernel has ended the container for that', () => {
  expect(isOutOfMemory(podOf(container({ terminated: { exitCode: 137, reason: 'OOMKilled' } })))).toBe(true);
  expect(isOutOfMemory(podOf(container({ terminated: { exitCode: 137, reason: 'Error' } })))).toBe(false);
});
