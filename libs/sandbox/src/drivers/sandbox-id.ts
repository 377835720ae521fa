import { createHash } from 'node:crypto';
import type { ThreadKey } from '@caribou/core';
import type { SandboxSettings } from './settings.js';

/**
 * The id of a thread's sandbox: the same in every manager of an installation, so that each finds what another left, and
 * different between installations that share an engine. Also the container's name.
 */
export function sandboxIdOf(settings: SandboxSettings, { userId, threadId }: ThreadKey): string {
  const home = settings.hostHomeDir ?? settings.homeDir;
  return `caribou-${createHash('sha256').update([home, userId, threadId].join('\0')).digest('hex').slice(0, 24)}`;
}
