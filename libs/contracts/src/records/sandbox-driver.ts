import { z } from 'zod';

/** The drivers that sandboxes run with, the preferred one first. A thread keeps its driver for life. */
export const SandboxDriverKind = z.enum(['docker', 'bwrap', 'kubernetes']);
export type SandboxDriverKind = z.infer<typeof SandboxDriverKind>;
