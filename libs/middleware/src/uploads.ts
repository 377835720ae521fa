import { AppError, type HumanMessage, type Message, textOf, type UploadedFileState } from '@caribou/contracts';
import type {
  AgentMiddleware,
  ConversionRecord,
  ConversionStore,
  RunContext,
  SandboxPort,
  SandboxScope,
} from '@caribou/core';
import { namedFiles, type ShownFile, uploadsBlock, uploadsPath, withoutBlock } from './uploads-block.js';

export interface UploadsPorts {
  readonly sandbox: Pick<SandboxPort, 'list' | 'stat'>;
  /** What is known of the Markdown of documents; without it none is named. */
  readonly conversions?: Pick<ConversionStore, 'read'>;
}

/** Files of the message, and of earlier ones, that are named; the rest is counted. */
const MAX_NEW = 10;
const MAX_EARLIER = 20;
const MAX_LISTED = 1_000;

/**
 * Tells the agent which files came with the last message, and which are there from before, by a block in front of the
 * person's words. Of what the client says of its files only plain names count, and only those of regular files in the
 * thread's uploads. A message that has its block is left alone, so a run that starts again adds none.
 */
export function uploads(ports: UploadsPorts): AgentMiddleware {
  return {
    name: 'uploads',
    async beforeAgent(state, run) {
      const last = state.messages.at(-1);
      const hadFiles = (state.uploaded_files ?? []).length > 0;
      if (last?.type !== 'human' || isTold(last)) return undefined;
      const names = namedFiles(last);
      const found = names.length === 0 ? null : await orNothing(run, () => look(ports, run, names));
      if (found === null || found.current.length === 0)
        return hadFiles ? { update: { uploaded_files: [] } } : undefined;
      const update = {
        messages: [withBlock(last, uploadsBlock(found))],
        uploaded_files: found.current.map(stateOf),
      };
      return { update };
    },
  };
}

/** Only the server writes this key. */
const isTold = ({ additional_kwargs }: Message): boolean => 'original_user_content' in additional_kwargs;

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
    run.logger.warn({ err: error }, 'the uploads of the thread could not be looked at');
    return null;
  }
}

const scopeOf = (run: RunContext): SandboxScope => ({ userId: run.userId, threadId: run.threadId, epoch: run.epoch });

interface Found {
  readonly current: readonly ShownFile[];
  readonly earlier: readonly ShownFile[];
  /** How many more there are. */
  readonly omitted: number;
}

async function look(ports: UploadsPorts, run: RunContext, names: readonly string[]): Promise<Found> {
  const present = await namesPresent(ports, run);
  const wanted = names.slice(0, MAX_NEW);
  const others = present.filter((name) => !names.includes(name));
  const records = await ports.conversions?.read(scopeOf(run), [...wanted, ...others]);
  const companions = new Set([...(records?.values() ?? [])].flatMap((record) => companionOf(record) ?? []));
  const earlier = others.filter((name) => !companions.has(name));
  const shown = [...wanted, ...earlier.slice(0, MAX_EARLIER)];
  const files = await sizesOf(ports, run, [
    ...shown,
    ...shown.flatMap((name) => companionOf(records?.get(name)) ?? []),
  ]);
  const describe = (name: string): ShownFile[] => {
    const bytes = files.get(name);
    return bytes === undefined ? [] : [{ name, bytes, ...markdownOf(records?.get(name), files) }];
  };
  return {
    current: wanted.flatMap(describe),
    earlier: earlier.slice(0, MAX_EARLIER).flatMap(describe),
    omitted: Math.max(names.length - MAX_NEW, 0) + Math.max(earlier.length - MAX_EARLIER, 0),
  };
}

async function namesPresent({ sandbox }: UploadsPorts, run: RunContext): Promise<readonly string[]> {
  const folder = uploadsPath('');
  const listed = await sandbox.list(
    scopeOf(run),
    { path: folder.slice(0, -1), depth: 1, maxResults: MAX_LISTED },
    run.signal,
  );
  if (listed.outcome !== 'ok') return [];
  return listed.paths
    .filter((path) => path.startsWith(folder) && !path.endsWith('/'))
    .map((path) => path.slice(folder.length));
}

/** Bytes of those that are regular files. */
async function sizesOf(
  { sandbox }: UploadsPorts,
  run: RunContext,
  names: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const found = await sandbox.stat(scopeOf(run), { paths: names.map(uploadsPath) }, run.signal);
  return new Map(
    names.flatMap((name, at): [string, number][] => {
      const file = found[at];
      return file?.outcome === 'file' ? [[name, file.bytes]] : [];
    }),
  );
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
