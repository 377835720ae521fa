import type { Message } from '@caribou/contracts';
import type { TurnKind } from './plan.js';

/** The parts of a frame that are compared. */
export interface FrameMark {
  readonly id: string | undefined;
  readonly event: string;
  /** Digest of the data. */
  readonly digest: string;
}

/** The frames of one connection to a stream. */
export interface Segment {
  /** The `Last-Event-ID` it was opened with. */
  readonly after: string;
  readonly frames: readonly FrameMark[];
}

/** A side effect that a script requested, counted where it took place. */
export interface Effect {
  readonly where: 'ledger' | 'notes' | 'mcp';
  readonly word: string;
  readonly count: number;
  /** Whether a result of a tool reported it. */
  readonly reported: boolean;
}

export interface RunHistory {
  readonly threadId: string;
  readonly runId: string;
  readonly kind: TurnKind | 'after';
  /** The text of the user message. */
  readonly script: string;
  /** The allowed final statuses; `gone` when no record may remain. */
  readonly may: readonly string[];
  readonly acceptedAtMs: number;
  readonly segments: readonly Segment[];
  /** Whether the end of its stream was missing after the time limit. */
  readonly stuck: boolean;
  readonly attempts: number;
  /** Data of the `error` frames that its streams delivered. */
  readonly errors: readonly string[];
  /** Status at the end of everything, or `gone`. */
  readonly status: string;
  /** Its stream from the beginning, read at the end; undefined when the run is gone. */
  readonly replay: readonly FrameMark[] | undefined;
}

/** A file of a thread by its virtual path with the checksum of its content; undefined where there is no such file. */
export interface FileVersion {
  readonly path: string;
  readonly sha256: string | undefined;
}

/** A turn that works with files: an upload that was accepted, and then a run whose calls of a tool report what they saw and made. */
export interface FileTurn {
  /** Undefined when no run was accepted. */
  readonly runId: string | undefined;
  readonly uploaded: readonly FileVersion[];
  /** What each call makes, in their order. */
  readonly calls: readonly (readonly FileVersion[])[];
}

/** A file as a gateway gave it. */
export interface FileRead extends FileVersion {
  /** The gateway and its route. */
  readonly where: string;
  /** How many turns with files the thread had begun. */
  readonly turns: number;
}

export interface FileHistory {
  readonly turns: readonly FileTurn[];
  /** During the work. */
  readonly reads: readonly FileRead[];
  /** When everything was at rest. */
  readonly readAtEnd: readonly FileRead[];
}

export interface ThreadHistory {
  readonly threadId: string;
  /** In the order in which they were accepted. */
  readonly runs: readonly RunHistory[];
  /** The state at the end; undefined for a removed thread. */
  readonly messages: readonly Message[] | undefined;
  readonly effects: readonly Effect[];
  /** Undefined for a thread without turns that work with files. */
  readonly files?: FileHistory | undefined;
}

/** One fact that a user asked to be remembered. */
export interface Remembered {
  readonly threadId: string;
  readonly word: string;
  readonly count: number;
}

/** A complete answer of the provider, with the tokens that it reported. */
export interface ProviderCall {
  /** For a step of a run or a task, for a title, or for an extraction of memory. */
  readonly kind: 'run' | 'title' | 'memory';
  /** Equal for attempts of the same call. */
  readonly key: string;
  /** Answers of the turn before this one. */
  readonly step: number;
  /** The message that opened the turn; of an extraction the conversation. */
  readonly text: string;
  readonly model: string;
  readonly input: number;
  readonly cached: number;
  readonly output: number;
}

/** A row of the ledger, as `GET /api/usage` shows it. */
export interface LedgerCount {
  readonly agent: string;
  /** The provider's name of the model. */
  readonly model: string;
  readonly calls: number;
  readonly input: number;
  readonly cached: number;
  readonly output: number;
}

export interface UsageHistory {
  readonly answered: readonly ProviderCall[];
  readonly ledger: readonly LedgerCount[];
  /** Messages of runs that no gateway has confirmed, and that may have been executed nevertheless. */
  readonly declined: readonly string[];
}

/** Everything that a run of chaos has recorded; the checker reads nothing else. */
export interface History {
  readonly threads: readonly ThreadHistory[];
  readonly remembered: readonly Remembered[];
  readonly usage: UsageHistory;
  /** Leftovers when everything was at rest, a line each: keys, wakes, processes. */
  readonly remains: readonly string[];
  /** Other incidents: requests that no gateway answered, services that ended by themselves. */
  readonly incidents: readonly { readonly what: string; readonly threadId?: string; readonly runId?: string }[];
}

export interface Violation {
  readonly rule: string;
  readonly threadId?: string;
  readonly runId?: string;
  readonly what: string;
  readonly excerpt: string;
}

/** The text of a message, whether it is one or in blocks. */
export function textOf({ content }: Pick<Message, 'content'>): string {
  if (typeof content === 'string') return content;
  const texts = content.map((block): unknown => (typeof block === 'string' ? block : block['text']));
  return texts.filter((text) => typeof text === 'string').join('\n');
}
