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
  listUploadNames,
  readUploadSizes,
  type UploadsAccess,
  uploadsPath,
} from '@caribou/core';
import { z } from 'zod';
import { namedFiles, type ShownFile, uploadsBlock, withoutBlock } from './uploads-block.js';

export interface UploadsPorts {
  readonly sandbox: Pick<SandboxPort, 'list' | 'stat'>;
  /** What is known of uploads and their Markdown; without it only the files that a message names are mentioned. */
  readonly conversions?: Pick<ConversionStore, 'read' | 'uploadsSince'>;
}

/** Files of the message, and of earlier ones, that are named; the rest is counted. */
const MAX_NEW = 10;
const MAX_EARLIER = 20;
const MAX_LISTED = 1_000;

/** The newest upload that the agent knows of; numbers are those of one thread, and a branch is another thread. */
const announced = stateSlot('guards', 'uploads', z.object({ thread_id: z.string(), number: z.number() }));

/**
 * Mentions new files to the agent in a block in front of the person's words: those that the last message names, those
 * uploaded since the last message whether it names them or not, and which are there from before. Of what the client says of
 * its files only plain names count, and only those of regular files in the thread's uploads. A message that has its
 * block is left alone, so a run that starts again adds none.
 */
export function uploads(ports: UploadsPorts): AgentMiddleware {
  return {
    name: 'uploads',
    async beforeAgent(state, run) {
      const last = state.messages.at(-1);
      const hadFiles = (state.uploaded_files ?? []).length > 0;
      if (last?.type !== 'human' || hasBlock(last)) return undefined;
      const number = announcedIn(state, run);
      const found = await orNothing(run, () => lookForNew(ports, run, { named: namedFiles(last), number }));
      const update: StateUpdate = {
        ...(found === null || found.newest === number
          ? {}
          : announced.write({ thread_id: run.threadId, number: found.newest })),
        ...updateFor(last, found, hadFiles),
      };
      return isEmptyUpdate(update) ? undefined : { update };
    },
  };
}

function updateFor(last: HumanMessage, found: Found | null, hadFiles: boolean): StateUpdate {
  const shown = found === null ? [] : [...found.current, ...found.unnamed];
  if (found === null || shown.length === 0) return hadFiles ? { uploaded_files: [] } : {};
  return { messages: [withBlock(last, uploadsBlock(found))], uploaded_files: shown.map(stateOf) };
}

function announcedIn(state: ThreadState, run: RunContext): number {
  const known = announced.read(state);
  return known?.thread_id === run.threadId ? known.number : 0;
}

/** Only the server writes this key. */
const hasBlock = ({ additional_kwargs }: Message): boolean => 'original_user_content' in additional_kwargs;

type Part = Exclude<HumanMessage['content'], string>[number];

/** A part without blocks that an earlier sending of the message got; none when it holds nothing else. */
function withoutOldBlock(part: Part): readonly Part[] {
  const text = textOf([part]);
  const words = withoutBlock(text);
  if (words === text) return [part];
  return words === '' ? [] : [typeof part === 'string' ? words : { ...part, text: words }];
}

function withBlock(message: HumanMessage, block: string): HumanMessage {
  const { content } = message;
  const words = typeof content === 'string' ? withoutBlock(content) : content.flatMap(withoutOldBlock);
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

/** A sandbox that cannot be had fails the tools that need it, with a reason; it does not fail the run. */
async function orNothing<T>(run: RunContext, act: () => Promise<T>): Promise<T | null> {
  try {
    return await act();
  } catch (error) {
    run.signal.throwIfAborted();
    if (!(error instanceof AppError) || error.code === 'fenced') throw error;
    run.logger.warn({ error }, 'the uploads of the thread could not be looked at');
    return null;
  }
}

const scopeOf = (run: RunContext): SandboxScope => ({ userId: run.userId, threadId: run.threadId, epoch: run.epoch });

interface Found {
  readonly current: readonly ShownFile[];
  readonly unnamed: readonly ShownFile[];
  readonly earlier: readonly ShownFile[];
  /** How many more there are. */
  readonly omitted: number;
  /** Number of the newest upload of the thread. */
  readonly newest: number;
}

interface Wanted {
  readonly named: readonly string[];
  /** Number of the newest upload that the agent knows of. */
  readonly number: number;
}

/** Null, without a look into the sandbox, when there is nothing new. */
async function lookForNew(ports: UploadsPorts, run: RunContext, { named, number }: Wanted): Promise<Found | null> {
  const since = await ports.conversions?.uploadsSince(scopeOf(run), number);
  const unnamed = since?.names.filter((name) => !named.includes(name)) ?? [];
  if (named.length + unnamed.length === 0) return null;
  return { ...(await look(ports, run, { named, unnamed })), newest: since?.newest ?? number };
}

async function look(
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

/** Its Markdown, as long as it is the one that was made. */
function markdownOf(
  record: ConversionRecord | undefined,
  files: ReadonlyMap<string, number>,
): Pick<ShownFile, 'markdown' | 'pending'> {
  if (record?.status === 'pending') return { pending: true };
  if (record?.status !== 'done') return {};
  const { name, sizeBytes } = record.companion;
  return files.get(name) === sizeBytes ? { markdown: name } : {};
}
