import type { SandboxInfo } from '../drivers/driver.js';
import type { Pod } from './api/pod.js';
import { POD_ANNOTATION, POD_LABEL } from './pods/pod-names.js';
import type { PodReference } from './pods/pod-remover.js';
import { stateOf } from './pods/pod-state.js';

/**
 * A pod as a sandbox. Pods without a thread, of a probe or warm ones, are nobody's sandbox: those of `managerId` are left
 * out, and those of others are listed by their names, as their managers may have ended.
 */
export function toSandboxInfo(pod: Pod, managerId: string): SandboxInfo | null {
  const { name, uid, annotations, labels } = pod.metadata;
  const owner = annotations[POD_ANNOTATION.manager];
  if (owner === undefined) return null;
  const sandboxId = annotations[POD_ANNOTATION.sandbox];
  const hasThread = sandboxId !== undefined && labels[POD_LABEL.sandbox] !== undefined;
  if (!hasThread && owner === managerId) return null;
  return {
    sandboxId: hasThread ? sandboxId : name,
    managerId: owner,
    userId: annotations[POD_ANNOTATION.user] ?? '',
    threadId: annotations[POD_ANNOTATION.thread] ?? '',
    running: ['running', 'starting'].includes(stateOf(pod).kind),
    instance: `${name}/${uid}`,
  };
}

/** The pod that `instance` of a listed sandbox names. */
export function podOfInstance({ instance }: Pick<SandboxInfo, 'instance'>): PodReference {
  const [name = '', uid = ''] = instance.split('/');
  return { name, uid };
}
