import type { z } from 'zod';
import { SandboxEdit, SandboxExec, SandboxRead, SandboxWrite } from './sandbox.js';
import { SandboxReadBytes } from './sandbox-bytes.js';
import { SandboxGlob, SandboxGrep, SandboxList, SandboxStat } from './sandbox-lookups.js';

/**
 * What tools do in a thread's sandbox: each method of the sandbox port and the contract of its request and reply. The
 * types of the port, the client and the wrappers around it follow from this table.
 */
export const sandboxOperations = {
  exec: SandboxExec,
  read: SandboxRead,
  readBytes: SandboxReadBytes,
  write: SandboxWrite,
  edit: SandboxEdit,
  list: SandboxList,
  glob: SandboxGlob,
  grep: SandboxGrep,
  stat: SandboxStat,
} as const;

type Contracts = typeof sandboxOperations;
export type SandboxOperation = keyof Contracts;

type Wire<Name extends SandboxOperation> = z.input<Contracts[Name]['request']>;

/** The caller's part of a request; the client adds user, thread, epoch, sandbox and the hash of the arguments. */
export type SandboxRequest<Name extends SandboxOperation> = Readonly<
  Omit<Wire<Name>, 'user_id' | 'thread_id' | 'epoch' | 'sandbox_id' | 'args_hash'>
>;

export type SandboxReply<Name extends SandboxOperation> = DeepReadonly<z.output<Contracts[Name]['reply']>>;

type DeepReadonly<T> = T extends readonly (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> }
    : T;

/** The operations that are executed once per key and recorded in the execution journal. */
export type JournalledOperation = {
  [Name in SandboxOperation]: 'args_hash' extends keyof Wire<Name> ? Name : never;
}[SandboxOperation];
