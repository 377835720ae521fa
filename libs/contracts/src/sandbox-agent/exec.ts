import { z } from 'zod';

const MiB = 1024 * 1024;

/** Bounds of what a sandbox agent accepts. */
export const AGENT_LIMITS = {
  /** Bytes of a command; the kernel takes 128 KiB for one argument. */
  commandBytes: 120 * 1024,
  /** Longest time of a command, in milliseconds. */
  timeoutMs: 24 * 3_600_000,
  /** Most bytes of output in a result. */
  outputBytes: 16 * MiB,
  environmentEntries: 64,
  environmentBytes: 16 * 1024,
  /** Longest lease that is given at once, in milliseconds. */
  leaseMs: 600_000,
  /** Bytes of a path (Linux PATH_MAX). */
  pathBytes: 4_096,
  /** Paths in a frame `remove`. */
  removedPaths: 32,
  /** Entries that a change of files may have. */
  entries: 200_000,
  /** Bytes of one file. */
  fileBytes: 1024 * MiB,
  /** Bytes of all files of a change. */
  changeBytes: 16 * 1024 * MiB,
} as const;

/** The version of the protocol, which the paths of all routes begin with. */
export const AGENT_PROTOCOL_VERSION = 1;

const size = (max: number) => z.number().int().min(0).max(max);
const Id = z.string().regex(/^[A-Za-z0-9-]{1,64}$/, '1 to 64 letters, digits and hyphens');

/**
 * What the two sides know of each other's files. A session begins when the agent's files are replaced by those of the request; `ack` is
 * the number of the last changes of the agent that the client has applied completely, 0 for none of the session.
 */
export const MirrorPosition = z.object({ session: Id, reset: z.boolean(), ack: z.number().int().min(0) });
export type MirrorPosition = z.infer<typeof MirrorPosition>;

/** Where the agent relays the connections of programs that use the HTTP proxy of the sandbox. */
export const AgentEgress = z.object({
  host: z.string().min(1).max(253),
  port: z.number().int().min(1).max(65_535),
  /** Identifies the sandbox at the other end. */
  token: z.string().regex(/^[A-Za-z0-9_-]{16,128}$/, '16 to 128 letters, digits, - and _'),
});
export type AgentEgress = z.infer<typeof AgentEgress>;

/** The head of `POST /v1/exec`. The changes of files follow, then, when `skills.changed`, those of the skills. */
export const AgentExecHead = z.object({
  id: Id,
  command: z.string().max(AGENT_LIMITS.commandBytes),
  timeoutMs: z.number().int().min(1).max(AGENT_LIMITS.timeoutMs),
  /** Most bytes of stdout and stderr together that the result holds. */
  maxOutputBytes: size(AGENT_LIMITS.outputBytes),
  /** A command that has written this much output in all is ended. */
  outputCeilingBytes: size(1024 * MiB),
  /** Largest file that the command may write, in bytes. */
  maxFileBytes: size(AGENT_LIMITS.fileBytes),
  openFiles: z.number().int().min(16).max(1_048_576),
  /** Processes that the user of commands may have; null where users are shared with other pods. */
  processes: z.number().int().min(4).max(4_194_304).nullable(),
  /** What the three data directories may take; null for no limit. */
  quota: z.object({ bytes: z.number().int().min(0), files: z.number().int().min(0) }).nullable(),
  /** The whole environment of the command. */
  environment: z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,63}$/), z.string().max(4_096)),
  /** Whether output is sent while the command runs, too. */
  live: z.boolean(),
  /** Null: the sandbox has no network. */
  egress: AgentEgress.nullable(),
  mirror: MirrorPosition,
  /** The skills that the command finds; null for none. */
  skills: z.object({ instance: z.string().min(1).max(256), changed: z.boolean() }).nullable(),
});
export type AgentExecHead = z.infer<typeof AgentExecHead>;

/** The head of `POST /v1/pull`, which asks for the changes of files that no reply has brought to the client yet. */
export const AgentPullHead = z.object({ id: Id, mirror: MirrorPosition });
export type AgentPullHead = z.infer<typeof AgentPullHead>;

/** What a change of files has besides its entries. */
export const ChangesEnd = z.object({
  /** Entries and removed paths of the sequence, and bytes of its files. */
  entries: size(2 * AGENT_LIMITS.entries),
  bytes: size(AGENT_LIMITS.changeBytes),
  /** Entries that were left out: special files, those that are closed to the sender, too deep or too large. */
  skipped: z.number().int().min(0),
});
export type ChangesEnd = z.infer<typeof ChangesEnd>;

const Path = z.string().min(1).max(AGENT_LIMITS.pathBytes);
const Mode = z.number().int().min(0).max(0o777);

/** An entry of a change: paths and targets of links hold each byte as one character (latin1), as names of files need not be UTF-8. */
export const ChangedEntry = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('directory'), path: Path, mode: Mode }),
  z.object({ kind: z.literal('link'), path: Path, target: Path }),
  z.object({
    kind: z.literal('file'),
    path: Path,
    mode: Mode,
    size: size(AGENT_LIMITS.fileBytes),
    /** Milliseconds since the epoch. */
    modifiedMs: z.number().int().min(0).max(253_402_300_799_999),
  }),
]);
export type ChangedEntry = z.infer<typeof ChangedEntry>;

/** `sha256` in lower-case hexadecimal; null when the sender could not read the whole file: the receiver drops what it has of it. */
export const FileEnd = z.object({
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .nullable(),
});
export const ZeroBytes = z.object({ length: size(AGENT_LIMITS.fileBytes) });
export const RemovedPaths = z.object({ paths: z.array(Path).max(AGENT_LIMITS.removedPaths) });

export const AgentEndedBy = z.enum(['exit', 'timeout', 'cancel', 'output', 'quota']);

/** The last frame of a reply to `/v1/exec`; one to `/v1/pull` has `mirror` only. */
export const AgentExecResult = z.object({
  exitCode: z.number().int().min(0).max(255),
  stdout: z.string(),
  stderr: z.string(),
  truncatedBytes: z.number().min(0),
  endedBy: AgentEndedBy,
  durationMs: z.number().min(0),
  /** Why the command was ended by `quota`; a sentence without its full stop. */
  quotaReason: z.string().nullable(),
  mirror: z.object({ number: z.number().int().min(0) }),
  /** The skills that the sandbox has now; null when the command has changed them, so that they are sent again. */
  skills: z.string().nullable(),
});
export type AgentExecResult = z.infer<typeof AgentExecResult>;

/** What tells a client what to do about a refusal: `WireError.details.reason`. */
export const AgentRefusal = z.enum([
  /** Another request runs a command or exchanges files. */
  'busy',
  /** The lease has run out, or none was given yet. */
  'no_lease',
  /** The agent has other files than the client supposes: begin a session. */
  'other_session',
  /** The agent has changes that the client did not get: pull first. */
  'not_acknowledged',
  /** The request breaks the protocol. */
  'malformed',
]);
export type AgentRefusal = z.infer<typeof AgentRefusal>;
