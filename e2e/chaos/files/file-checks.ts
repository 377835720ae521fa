import type { Message } from '@caribou/contracts';
import {
  type FileHistory,
  type FileRead,
  type FileVersion,
  type History,
  textOf,
  type ThreadHistory,
  type Violation,
} from '../history.js';

export interface FileFigures {
  /** Versions of files that were made or uploaded. */
  readonly versions: number;
  /** Files that were read when everything was at rest, at all gateways. */
  readonly readAtEnd: number;
  /** Requests to the object store, and those of them that were made to fail. */
  readonly storeRequests: number;
  readonly storeFailures: number;
}

/** What a run of chaos did with files. */
export function fileFigures(
  { threads }: Pick<History, 'threads'>,
  store: { readonly requests: number; readonly failures: number } = { requests: 0, failures: 0 },
): FileFigures {
  const files = threads.flatMap((thread) => thread.files ?? []);
  const versions = files.flatMap(({ turns }) => turns.flatMap(({ uploaded, calls }) => [...uploaded, ...calls.flat()]));
  const readAtEnd = files.reduce((sum, one) => sum + one.readAtEnd.length, 0);
  return { versions: versions.length, readAtEnd, storeRequests: store.requests, storeFailures: store.failures };
}

type Checksum = FileVersion['sha256'];

/** The sentence of a result that says since when changed files are missing: a machine is lost with them. */
const MISSING = /\[files that were changed since .* are missing/;
const REPORT = /^(saw|made) ([0-9a-f]{64}|none) (\S+)$/gm;

const brief = (sha256: Checksum): string => sha256?.slice(0, 8) ?? 'none';

/**
 * Finds files of a thread that are lost, old or mixed. A file is final when the result of the call that made it is in the transcript, or
 * when its upload was accepted. What a call without such a result makes may be there or not, until the next call that sees the file: one
 * that was not there then must not appear later. No machine is lost in a run of chaos, so no result may say that files are missing.
 */
export function fileViolations(thread: ThreadHistory): readonly Violation[] {
  const { files, messages = [] } = thread;
  const { threadId } = thread;
  const found: Violation[] = messages.filter(isMissingNotice).map((message) => ({
    ...{ rule: 'files', threadId, what: 'a result says that files are missing, but no machine was lost' },
    excerpt: textOf(message).slice(0, 300),
  }));
  if (files === undefined) return found;
  const check = new FileCheck(thread, files);
  check.run();
  return [...found, ...check.found];
}

const isMissingNotice = (message: Message): boolean => message.type === 'tool' && MISSING.test(textOf(message));

interface Known {
  /** The newest version that is final. */
  readonly sure: Checksum;
  /** Versions of calls whose outcome is not known. */
  readonly possible: readonly Checksum[];
}

class FileCheck {
  readonly found: Violation[] = [];
  private readonly known = new Map<string, Known>();
  private readonly versions = new Map<string, Set<Checksum>>();

  constructor(
    private readonly thread: ThreadHistory,
    private readonly files: FileHistory,
  ) {}

  run(): void {
    const { turns, reads, readAtEnd } = this.files;
    for (const [index, turn] of turns.entries()) {
      turn.uploaded.forEach((version) => this.makeFinal(version));
      const results = turn.runId === undefined ? [] : this.resultsOf(turn.runId);
      turn.calls.forEach((made, call) => this.takeCall(made, results[call] ?? '', turn.runId));
      reads.filter((read) => read.turns === index + 1).forEach((read) => this.checkRead(read));
    }
    for (const read of readAtEnd) this.look(read, read.where);
  }

  /** A file as it was served during the work: an upload is the newest, of any other file a version that was made so far. */
  private checkRead(read: FileRead): void {
    const isUpload = read.path.startsWith('uploads/');
    if (isUpload) this.look(read, read.where);
    else if (read.sha256 !== undefined && this.versions.get(read.path)?.has(read.sha256) !== true)
      this.violation(read, `${read.where} served a content that nobody made`);
  }

  private takeCall(made: readonly FileVersion[], result: string, runId: string | undefined): void {
    const reports = [...result.matchAll(REPORT)].map(([, verb, sha256, path]) => ({
      verb,
      version: { path: path ?? '', sha256: sha256 === 'none' ? undefined : sha256 },
    }));
    for (const { verb, version } of reports) if (verb === 'saw') this.look(version, 'a command', runId);
    const reported = new Map(
      reports.flatMap(({ verb, version }) => (verb === 'made' ? [[version.path, version.sha256]] : [])),
    );
    for (const version of made) {
      if (!reported.has(version.path)) this.makePossible(version);
      else {
        if (reported.get(version.path) !== version.sha256)
          this.violation(version, `the command that makes it reports ${brief(reported.get(version.path))}`, runId);
        this.makeFinal(version);
      }
    }
  }

  /** Somebody saw a version of a file: it is the newest from then on. */
  private look({ path, sha256 }: FileVersion, who: string, runId?: string): void {
    const { sure, possible } = this.known.get(path) ?? { sure: undefined, possible: [] };
    if (sha256 !== sure && !possible.includes(sha256)) {
      const allowed = [sure, ...possible].map(brief).join(' or ');
      const kind = sha256 === undefined ? 'missing' : this.versions.get(path)?.has(sha256) ? 'old' : 'unknown';
      this.violation({ path }, `${kind}: ${who} saw ${brief(sha256)}, the newest is ${allowed}`, runId);
    }
    this.known.set(path, { sure: sha256, possible: [] });
  }

  private makeFinal({ path, sha256 }: FileVersion): void {
    this.enter(path, sha256);
    this.known.set(path, { sure: sha256, possible: [] });
  }

  private makePossible({ path, sha256 }: FileVersion): void {
    this.enter(path, sha256);
    const { sure, possible } = this.known.get(path) ?? { sure: undefined, possible: [] };
    this.known.set(path, { sure, possible: [...possible, sha256] });
  }

  private enter(path: string, sha256: Checksum): void {
    const versions = this.versions.get(path) ?? new Set();
    this.versions.set(path, versions.add(sha256));
  }

  /** The results of a run's calls of `bash`, in their order. */
  private resultsOf(runId: string): readonly string[] {
    const { messages = [], runs } = this.thread;
    const script = runs.find((run) => run.runId === runId)?.script;
    const at = messages.findIndex((message) => script !== undefined && textOf(message).includes(script));
    if (at < 0) return [];
    const after = messages.slice(at + 1);
    const next = after.findIndex(({ type }) => type === 'human');
    const own = after.slice(0, next < 0 ? undefined : next);
    return own.filter(({ type }) => type === 'tool').map(textOf);
  }

  private violation({ path }: Pick<FileVersion, 'path'>, what: string, runId?: string): void {
    this.found.push({
      ...{ rule: 'files', threadId: this.thread.threadId, ...(runId === undefined ? {} : { runId }) },
      what: `${path}: ${what}`,
      excerpt: this.thread.runs.map(({ kind, status }) => `${kind} ${status}`).join(', '),
    });
  }
}
