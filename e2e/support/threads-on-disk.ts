import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Stack } from './stack.js';

/** A file of a thread's workspace, seen from the host. */
export const workspaceFile = (stack: Stack, threadId: string, name: string): string =>
  join(stack.homeDir, 'data', 'users', 'default', 'threads', threadId, 'user-data', 'workspace', name);

/** Lines of a workspace file, none when it does not exist. */
export function linesOf(stack: Stack, threadId: string, name: string): readonly string[] {
  const file = workspaceFile(stack, threadId, name);
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '');
}

/** Makes an empty file that a command in the sandbox waits for. */
export function openGate(stack: Stack, threadId: string, name: string): void {
  const file = workspaceFile(stack, threadId, name);
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, '');
}
