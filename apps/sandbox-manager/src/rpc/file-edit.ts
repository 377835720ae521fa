import { SandboxEdit } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import { FileRefusedError, occurrences, replaceAt, type ThreadFiles } from '@caribou/files';
import type { z } from 'zod';
import type { Execution } from '../executions/execution.js';
import { isExpectedContent } from './file-expectation.js';
import type { PathLocks } from './path-locks.js';
import { identityOf, refusalMessage, threadOf } from './sandbox-commands.js';

type EditRequest = z.output<(typeof SandboxEdit)['request']>;
type EditReply = z.output<(typeof SandboxEdit)['reply']>;

/** Maximum size of a file before and after an edit, in bytes, because the file is read into memory. */
const MAX_EDITED_BYTES = 16 * 1024 * 1024;
const MAX_RANGES = 1000;

/** Creates the execution of an edit. A refusal to change the file is a result like any other, not an error. */
export function createEditExecution(request: EditRequest, files: ThreadFiles, locks: PathLocks): Execution<EditReply> {
  const thread = threadOf(request);
  return {
    ...identityOf(request),
    kind: 'write',
    paths: [request.path],
    run: () => locks.hold(thread, request.path, () => edit(request, thread, files)),
    unknown: (reason) => ({ outcome: 'unknown', reason }),
    parse: (stored) => SandboxEdit.reply.parse(stored),
  };
}

async function edit(request: EditRequest, thread: ThreadKey, files: ThreadFiles): Promise<EditReply> {
  const { path } = request;
  try {
    const content = await contentOf(files, thread, path);
    if (!isExpectedContent(content, request.expected)) return { outcome: 'refused', reason: 'changed' };
    const old = Buffer.from(request.old_text, 'utf8');
    const by = Buffer.from(request.new_text, 'utf8');
    const offsets = occurrences(content, old);
    if (offsets.length === 0 || (offsets.length > 1 && !request.replace_all)) {
      return { outcome: 'not_unique', count: offsets.length };
    }
    if (content.length + offsets.length * (by.length - old.length) > MAX_EDITED_BYTES) {
      throw new FileRefusedError('too_large', path);
    }
    const edited = replaceAt(content, offsets, { length: old.length, by });
    await files.replace(thread, path, edited.content);
    return { outcome: 'ok', replaced: offsets.length, changed: edited.changed.slice(0, MAX_RANGES) };
  } catch (error) {
    if (error instanceof FileRefusedError)
      return { outcome: 'refused', reason: error.reason, ...refusalMessage(error) };
    throw error;
  }
}

async function contentOf(files: ThreadFiles, thread: ThreadKey, path: string): Promise<Buffer> {
  const handle = await files.openFile(thread, path);
  try {
    const { size } = await handle.stat();
    if (size > MAX_EDITED_BYTES) throw new FileRefusedError('too_large', path);
    const buffer = Buffer.alloc(size);
    const { bytesRead } = await handle.read(buffer, 0, size, 0);
    const content = buffer.subarray(0, bytesRead);
    if (content.includes(0)) throw new FileRefusedError('binary', path);
    return content;
  } finally {
    await handle.close();
  }
}
