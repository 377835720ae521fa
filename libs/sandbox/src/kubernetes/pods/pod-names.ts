import { createHash, randomBytes } from 'node:crypto';
import type { SandboxSpec } from '../../drivers/driver.js';

/** Labels of sandbox pods, by which managers, network policies and disruption budgets find them. */
export const POD_LABEL = {
  name: 'app.kubernetes.io/name',
  installation: 'caribou.dev/installation',
  manager: 'caribou.dev/manager',
  /** The sandbox id; a pod without it has no thread. */
  sandbox: 'caribou.dev/sandbox',
  /** A pod that waits for a thread. */
  warm: 'caribou.dev/warm',
  /** A pod of a probe. */
  trial: 'caribou.dev/trial',
} as const;

/** The value of `POD_LABEL.name`. */
export const SANDBOX_APP = 'caribou-sandbox';

export const POD_ANNOTATION = {
  /** The ids as they are; labels may have digests of them. */
  sandbox: 'caribou.dev/sandbox-id',
  manager: 'caribou.dev/manager-id',
  user: 'caribou.dev/user',
  thread: 'caribou.dev/thread',
  /** Digest of what the pod was made of: image and settings. */
  settings: 'caribou.dev/settings',
} as const;

/** What a label's value may be (63 characters) and a name of a pod may begin with. */
const VALID = /^[a-z\d](?:[a-z\d-]{0,50}[a-z\d])?$/;
const SUFFIX_BYTES = 4;

const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 32);

/** An id as a value of a label or the beginning of a name: itself where that is possible, else a digest of it. */
export const idLabel = (id: string): string => (VALID.test(id) ? id : digest(id));

/** A name for a pod that no earlier pod has: a new sandbox never waits until the name of a deleted pod is free. */
export const newPodName = (prefix: string): string => `${idLabel(prefix)}-${randomBytes(SUFFIX_BYTES).toString('hex')}`;

/** Selects the pods of an installation; with `more`, those that have these labels too. */
export const podSelector = (installation: string, more: Readonly<Record<string, string>> = {}): string =>
  Object.entries({ [POD_LABEL.name]: SANDBOX_APP, [POD_LABEL.installation]: installation, ...more })
    .map(([key, value]) => `${key}=${value}`)
    .join(',');

/** Metadata by which a pod belongs to a thread. */
export const threadMetadata = (sandbox: SandboxSpec) => ({
  labels: { [POD_LABEL.sandbox]: idLabel(sandbox.sandboxId), [POD_LABEL.manager]: idLabel(sandbox.managerId) },
  annotations: {
    [POD_ANNOTATION.sandbox]: sandbox.sandboxId,
    [POD_ANNOTATION.manager]: sandbox.managerId,
    [POD_ANNOTATION.user]: sandbox.userId,
    [POD_ANNOTATION.thread]: sandbox.threadId,
  },
});
