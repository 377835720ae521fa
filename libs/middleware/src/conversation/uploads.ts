import {
  AppError,
  type HumanMessage,
  type Message,
  type StateUpdate,
  textOf,
  type ThreadState,
  type UploadedFileState,
} from '@caribou/contracts';
import {
  type AgentMiddleware,
  type ConversionRecord,
  type ConversionStore,
  isEmptyUpdate,
  type RunContext,
  type SandboxPort,
  type SandboxScope,
  stateSlot,
  type Step,
  listUploadNames,
  readUploadSizes,
  type UploadsAccess,
  uploadsPath,
} from '@caribou/core';
import { z } from 'zod';
import { fileNamesOf, type ShownFile, uploadsBlock, stripBlock } from './uploads-block.js';

/** The records of converted uploads as a run sees them. */
export interface UploadRecords extends Pick<ConversionStore, 'read'> {
  /** The same as in `ConversionStore`, for the thread of a run. */
  uploadsSince(run: RunContext, number: number): ReturnType<ConversionStore['uploadsSince']>;
}

export interface UploadsPorts {
  readonly sandbox: Pick<SandboxPort, 'list' | 'stat'>;
  /** Records of uploads and their Markdown; without it only the files that a message names are mentioned. */
  readonly conversions?: UploadRecords;
}

/** Maximum listed files of the message and of earlier ones; the rest is counted. */
const MAX_NEW = 10;
const MAX_EARLIER = 20;
const MAX_LISTED = 1_000;

/**
 * The newest upload that was announced to the agent; numbers are valid in one thread, and a branch is another thread.
 */
const announced = stateSlot('guards', 'uploads', z.object({ thread_id: z.string(), number: z.number() }));

/**
 * Lists new files to the agent in a block in front of the user's text: those that the last message names, those
 * uploaded since the last message, and earlier ones. Only plain names of regular files in the thread's uploads are
 * taken from the client. A message with a block is not changed, so that a restarted run adds no second one.
 */
export function uploads(ports: UploadsPorts): AgentMiddleware {
  const announce = async (state: ThreadState, run: RunContext): Promise<Step | undefined> => {
    const last = state.messages.at(-1);
    const hadFiles = (state.uploaded_files ?? []).length > 0;
    if (last?.type !== 'human' || hasBlock(last)) return undefined;
    const number = readAnnouncedNumber(state, run);
    const found = await orNull(run, () => findNewFiles(ports, run, { named: fileNamesOf(last), number }));
    const update: StateUpdate = {
      ...(found === null || found.newest === number
        ? {}
        : announced.write({ thread_id: run.threadId, number: found.newest })),
      ...updateFor(last, found, hadFiles),
    };
    return isEmptyUpdate(update) ? undefined : { update };
  };
  return { name: 'uploads', beforeAgent: announce, onJoined: announce };
}

function updateFor(last: HumanMessage, found: Found | null, hadFiles: boolean): StateUpdate {
  const shown = found === null ? [] : [...found.current, ...found.unnamed];
  if (found === null || shown.length === 0) return hadFiles ? { uploaded_files: [] } : {};
  return { messages: [withBlock(last, uploadsBlock(found))], uploaded_files: shown.map(stateOf) };
}

function readAnnouncedNumber(state: ThreadState, run: RunContext): number {
  const known = announced.read(state);
  return known?.thread_id === run.threadId ? known.number : 0;
}

/** Whether the message has a block; only the server writes this key. */
const hasBlock = ({ additional_kwargs }: Message): boolean => 'original_user_content' in additional_kwargs;

type Part = Exclude<HumanMessage['content'], string>[number];

/** The part without blocks of an earlier run; none when nothing else is left. */
function withoutOldBlock(part: Part): readonly Part[] {
  const text = textOf([part]);
  const words = stripBlock(text);
  if (words === text) return [part];
  return words === '' ? [] : [typeof part === 'string' ? words : { ...part, text: words }];
}

function withBlock(message: HumanMessage, block: string): HumanMessage {
  const { content } = message;
  const words = typeof content === 'string' ? stripBlock(content) : content.flatMap(withoutOldBlock);
  return {
    ...message,
    content: typeof words === 'string' ? `${block}\n\n${words}` : [{ type: 'text', text: block }, ...words],
    additional_kwargs: { ...message.additional_kwargs, original_user_content: textOf(words) },
  };
}

const stateOf = ({ name, bytes, markdown }: ShownFile): UploadedFileState => ({
  filename: name,
  size: bytes,
  path: uploadsPath(name),
  ...(markdown === undefined ? {} : { markdown_path: uploadsPath(markdown) }),
});

/**
 * Returns null when the sandbox is unavailable, which does not fail the run: the tools that need it report the reason.
 */
async function orNull<T>(run: RunContext, act: () => Promise<T>): Promise<T | null> {
  try {
    return await act();
  } catch (error) {
    run.signal.throwIfAborted();
    if (!(error instanceof AppError) || error.code === 'fenced') throw error;
    run.logger.warn({ error }, 'the uploads of the thread could not be read');
    return null;
  }
}

const scopeOf = (run: RunContext): SandboxScope => ({ userId: run.userId, threadId: run.threadId, epoch: run.epoch });

interface Found {
  readonly current: readonly ShownFile[];
  readonly unnamed: readonly ShownFile[];
  readonly earlier: readonly ShownFile[];
  /** Number of files that are not listed. */
  readonly omitted: number;
  /** Number of the newest upload of the thread. */
  readonly newest: number;
}

interface Wanted {
  readonly named: readonly string[];
  /** Number of the newest upload that was announced to the agent. */
  readonly number: number;
}

/** Finds files that were not announced; null, without a request to the sandbox, when there are none. */
async function findNewFiles(ports: UploadsPorts, run: RunContext, { named, number }: Wanted): Promise<Found | null> {
  const since = await ports.conversions?.uploadsSince(run, number);
  const unnamed = since?.names.filter((name) => !named.includes(name)) ?? [];
  if (named.length + unnamed.length === 0) return null;
  return { ...(await describeFiles(ports, run, { named, unnamed })), newest: since?.newest ?? number };
}

async function describeFiles(
  ports: UploadsPorts,
  run: RunContext,
  { named, unnamed }: { readonly named: readonly string[]; readonly unnamed: readonly string[] },
): Promise<Omit<Found, 'newest'>> {
  const at: UploadsAccess = { sandbox: ports.sandbox, scope: scopeOf(run), signal: run.signal };
  const present = await listUploadNames(at, MAX_LISTED);
  const wanted = { current: named.slice(0, MAX_NEW), unnamed: unnamed.slice(0, MAX_NEW) };
  const others = present.filter((name) => !named.includes(name) && !unnamed.includes(name));
  const records = await ports.conversions?.read(at.scope, [...wanted.current, ...wanted.unnamed, ...others]);
  const companions = new Set([...(records?.values() ?? [])].flatMap((record) => companionOf(record) ?? []));
  const earlier = others.filter((name) => !companions.has(name));
  const shown = [...wanted.current, ...wanted.unnamed, ...earlier.slice(0, MAX_EARLIER)];
  const files = await readUploadSizes(at, [
    ...shown,
    ...shown.flatMap((name) => companionOf(records?.get(name)) ?? []),
  ]);
  const describe = (name: string): ShownFile[] => {
    const bytes = files.get(name);
    return bytes === undefined ? [] : [{ name, bytes, ...markdownOf(records?.get(name), files) }];
  };
  const over = (names: readonly string[], most: number): number => Math.max(names.length - most, 0);
  return {
    current: wanted.current.flatMap(describe),
    unnamed: wanted.unnamed.flatMap(describe),
    earlier: earlier.slice(0, MAX_EARLIER).flatMap(describe),
    omitted: over(named, MAX_NEW) + over(unnamed, MAX_NEW) + over(earlier, MAX_EARLIER),
  };
}

const companionOf = (record: ConversionRecord | undefined): string | undefined =>
  record?.status === 'done' ? record.companion.name : undefined;

/** The file's Markdown, if it is still the converted one. */
function markdownOf(
  record: ConversionRecord | undefined,
  files: ReadonlyMap<string, number>,
): Pick<ShownFile, 'markdown' | 'pending'> {
  if (record?.status === 'pending') return { pending: true };
  if (record?.status !== 'done') return {};
  const { name, sizeBytes } = record.companion;
  return files.get(name) === sizeBytes ? { markdown: name } : {};
}
