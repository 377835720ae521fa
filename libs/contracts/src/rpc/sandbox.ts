import { z } from 'zod';
import { CommandAudit } from '../settings/command-rules.js';
import { ThreadId, UserId } from '../common/ids.js';
import { SandboxDriverKind } from '../records/sandbox-driver.js';
import { rpc } from './contract.js';

/** User and thread of the sandbox, and the caller's epoch of the thread's lease; the manager verifies all three. */
const scope = { user_id: UserId, thread_id: ThreadId, epoch: z.number().int().positive() };
export const sandboxScope = { ...scope, sandbox_id: z.string().min(1).max(128) };

/** The tool call that a read-only request is made for, recorded in the audit. */
export const onBehalfOf = { key: z.string().min(1).max(200).optional().describe('run_id:tool_call_id') };

/** Maximum bytes of text in one reply; NATS is configured for 8 MB. */
export const MAX_REPLY_TEXT_BYTES = 256 * 1024;
/** Maximum bytes of text in one write. */
export const MAX_WRITE_BYTES = 1024 * 1024;

/** Maximum characters of a blocked command that are recorded. */
export const MAX_BLOCKED_CHARS = 2048;

/**
 * Served by any manager (queue group): binds the thread to a sandbox, creating it when there is none. A caller that accepts
 * `elsewhere` may get the name of the machine that has the thread's files, whose managers serve `machineSubject`.
 */
export const SandboxAcquire = rpc({
  name: 'sandbox.acquire',
  request: z.object({
    ...scope,
    elsewhere: z.boolean().optional().describe('The caller accepts the name of a machine'),
  }),
  reply: z.union([
    z.object({
      sandbox_id: z.string(),
      manager_id: z.string(),
      driver: SandboxDriverKind,
      attachments: z.boolean().optional().describe('The manager takes requests with attached texts'),
    }),
    z.object({
      machine: z.string().min(1).max(128),
      wait_ms: z
        .number()
        .int()
        .min(0)
        .optional()
        .describe('How long to ask for it: it has changes that are not stored'),
    }),
  ]),
  timeoutMs: 60_000,
});

/** Subject on which the managers of a machine serve `SandboxAcquire`. */
export const machineSubject = (machine: string): string => `${SandboxAcquire.name}.${machine}`;

/** Served by any manager: checks whether new threads can get a sandbox, and of which kind. */
export const SandboxProbe = rpc({
  name: 'sandbox.probe',
  request: z.object({}),
  reply: z.object({ driver: SandboxDriverKind }),
  timeoutMs: 2_500,
});

/**
 * Runs a command once per `key`. A second request with the same key attaches to the running command or gets the stored
 * result; with other arguments it is an error; the outcome of a command whose manager died is `unknown`.
 */
export const SandboxExec = rpc({
  name: 'exec',
  request: z.object({
    ...sandboxScope,
    key: z.string().min(1).max(200).describe('run_id:tool_call_id'),
    args_hash: z.string().min(1).max(128),
    command: z.string().min(1).max(262_144),
    audit: CommandAudit.optional().describe('Verdict of the command rules, for the audit'),
    timeout_ms: z.number().int().min(100).max(3_600_000),
    max_output_bytes: z.number().int().min(1024).max(MAX_REPLY_TEXT_BYTES),
  }),
  reply: z.discriminatedUnion('outcome', [
    z.object({
      outcome: z.literal('done'),
      exit_code: z.number().int(),
      stdout: z.string(),
      stderr: z.string(),
      truncated_bytes: z.number().int().min(0),
      timed_out: z.boolean(),
      cancelled: z.boolean(),
      duration_ms: z.number(),
    }),
    z.object({ outcome: z.literal('unknown'), reason: z.string() }),
  ]),
  timeoutMs: 3_630_000,
});

/** Served by any manager: records that the rules blocked a command, which was not executed. */
export const SandboxBlocked = rpc({
  name: 'sandbox.blocked',
  request: z.object({
    ...scope,
    key: z.string().min(1).max(200),
    command: z.string().max(MAX_BLOCKED_CHARS).describe('Its beginning'),
    audit: CommandAudit,
  }),
  reply: z.object({ outcome: z.literal('blocked') }),
  timeoutMs: 5_000,
});

/** Ends the command of `key`; refused unless the epoch is the thread's current one. Idempotent. */
export const SandboxCancel = rpc({
  name: 'cancel',
  request: z.object({ ...sandboxScope, key: z.string().min(1).max(200) }),
  reply: z.object({ cancelled: z.boolean() }),
  timeoutMs: 5_000,
});

const Sha256 = z.string().regex(/^[0-9a-f]{64}$/);

/**
 * The expected content of a file before a change; null when it must not exist. A file with other content is refused as
 * `changed`; check and change are one step.
 */
export const FileExpectation = z.object({
  sha256: Sha256.nullable().describe('Of the whole file; null: it does not exist'),
});
export type FileExpectation = z.infer<typeof FileExpectation>;

/** Reads a text file below the virtual root. Lines are 1-based and inclusive. */
export const SandboxRead = rpc({
  name: 'read',
  request: z.object({
    ...sandboxScope,
    ...onBehalfOf,
    path: z.string().min(1).max(4096),
    start_line: z.number().int().min(1).optional(),
    end_line: z.number().int().min(1).optional(),
    max_bytes: z.number().int().min(1).max(MAX_REPLY_TEXT_BYTES),
  }),
  reply: z.discriminatedUnion('outcome', [
    z.object({
      outcome: z.literal('ok'),
      text: z.string(),
      total_bytes: z.number().int(),
      total_lines: z.number().int(),
      truncated: z.boolean(),
      sha256: Sha256.optional().describe('Of the whole file'),
    }),
    z.object({
      outcome: z.literal('refused'),
      reason: z.enum(['not_found', 'is_directory', 'not_regular', 'permission', 'outside', 'binary', 'too_large']),
    }),
  ]),
  timeoutMs: 30_000,
});

/** An explanation for the model, where the reason alone is not sufficient. */
const refusalMessage = z.string().optional();

const writeRequest = z.object({
  ...sandboxScope,
  key: z.string().min(1).max(200),
  args_hash: z.string().min(1).max(128),
  path: z.string().min(1).max(4096),
  content: z.string().max(MAX_WRITE_BYTES),
  encoding: z.enum(['utf8', 'base64']).optional().describe('Of the content; default utf8'),
  append: z.boolean(),
  expected: FileExpectation.optional(),
});

/** Writes a whole file, or appends to it, below the virtual root; journalled under `key` so that an append is done once. */
export const SandboxWrite = rpc({
  name: 'write',
  request: writeRequest,
  reply: z.discriminatedUnion('outcome', [
    z.object({ outcome: z.literal('ok'), bytes: z.number().int() }),
    z.object({
      outcome: z.literal('refused'),
      reason: z.enum(['is_directory', 'not_regular', 'permission', 'outside', 'too_large', 'no_space', 'changed']),
      message: refusalMessage,
    }),
    z.object({ outcome: z.literal('unknown'), reason: z.string() }),
  ]),
  timeoutMs: 30_000,
  attachable: ['content'],
});

/** UTF-8 of a text with as many characters. */
const MAX_ATTACHED_BYTES = 3 * MAX_WRITE_BYTES;
const attachedContent = z
  .instanceof(Uint8Array)
  .refine(({ byteLength }) => byteLength <= MAX_ATTACHED_BYTES, `at most ${MAX_ATTACHED_BYTES} bytes`);

/** The same as its handler receives it: a long content may be attached. */
export const ReceivedSandboxWrite = rpc({
  ...SandboxWrite,
  request: writeRequest.extend({ content: z.union([writeRequest.shape.content, attachedContent]) }),
});

export const path = z.string().min(1).max(4096);

/**
 * Replaces a text in a file, journalled under `key` so that it is done once. Unless `replace_all`, the text must occur
 * once; if not, nothing is changed. Lines are 1-based and inclusive, in the file as it is afterwards.
 */
export const SandboxEdit = rpc({
  name: 'edit',
  request: z.object({
    ...sandboxScope,
    key: z.string().min(1).max(200),
    args_hash: z.string().min(1).max(128),
    path,
    old_text: z.string().min(1).max(MAX_WRITE_BYTES),
    new_text: z.string().max(MAX_WRITE_BYTES),
    replace_all: z.boolean(),
    expected: FileExpectation.optional(),
  }),
  reply: z.discriminatedUnion('outcome', [
    z.object({
      outcome: z.literal('ok'),
      replaced: z.number().int(),
      changed: z.array(z.object({ first: z.number().int(), last: z.number().int() })),
    }),
    z.object({ outcome: z.literal('not_unique'), count: z.number().int() }),
    z.object({
      outcome: z.literal('refused'),
      reason: z.enum([
        'not_found',
        'is_directory',
        'not_regular',
        'permission',
        'outside',
        'binary',
        'too_large',
        'no_space',
        'changed',
      ]),
      message: refusalMessage,
    }),
    z.object({ outcome: z.literal('unknown'), reason: z.string() }),
  ]),
  timeoutMs: 30_000,
});

/** The run has ended: the sandbox may be paused or removed when idle. Never deletes files. */
export const SandboxRelease = rpc({
  name: 'release',
  request: z.object(sandboxScope),
  reply: z.object({ released: z.boolean() }),
  timeoutMs: 10_000,
});

/** Subject of a contract at one manager: `sandbox.<manager_id>.<name>`. */
export const managerSubject = (managerId: string, contract: { readonly name: string }): string =>
  `sandbox.${managerId}.${contract.name}`;
