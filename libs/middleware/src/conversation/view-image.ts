import {
  AppError,
  type HumanMessage,
  type Message,
  MAX_REPLY_FILE_BYTES,
  newId,
  type ViewedImage,
} from '@caribou/contracts';
import { type AgentMiddleware, type RunContext, type SandboxPort } from '@caribou/core';

const TOOL_NAME = 'view_image';
/** Maximum size of all image files in one request, as providers refuse larger bodies. The newest are shown. */
const MAX_SHOWN_BYTES = 40 * 1024 * 1024;

/**
 * Adds the images that the model asked for to the request that follows the results of its calls. They are in that
 * request only: the thread stores their paths, and later requests do not contain them.
 */
export function viewImage(sandbox: SandboxPort): AgentMiddleware {
  return {
    name: 'view-image',
    async wrapModelCall(request, next, run) {
      const images = Object.entries(request.state.viewed_images ?? {});
      if (images.length === 0 || !awaitsImages(request.messages)) return next(request);
      const shown = await show(images, { sandbox, run });
      return next({ ...request, messages: [...request.messages, shown] });
    },
  };
}

/** Whether the last answer asked for an image and all its calls have results; a message of the user may have joined since. */
export function awaitsImages(messages: readonly Message[]): boolean {
  const at = messages.findLastIndex(({ type }) => type === 'ai');
  const last = messages[at];
  if (last?.type !== 'ai' || !last.tool_calls.some(({ name }) => name === TOOL_NAME)) return false;
  const since = messages.slice(at + 1);
  const answered = new Set(since.flatMap((message) => (message.type === 'tool' ? [message.tool_call_id] : [])));
  return last.tool_calls.every(({ id }) => answered.has(id));
}

interface Reader {
  readonly sandbox: SandboxPort;
  readonly run: RunContext;
}

async function show(images: readonly (readonly [string, ViewedImage])[], reader: Reader): Promise<HumanMessage> {
  const blocks: { type: string; [key: string]: unknown }[] = [];
  let bytesLeft = MAX_SHOWN_BYTES;
  for (const [path, image] of [...images].reverse()) {
    bytesLeft -= image.size;
    const url = bytesLeft < 0 ? undefined : await dataUrl(path, image, reader);
    const note = url === undefined ? ': not shown, it changed, is gone, or is too much for one request' : '';
    blocks.unshift(
      { type: 'text', text: `- ${path} (${image.mime_type})${note}` },
      ...(url === undefined ? [] : [{ type: 'image_url', image_url: { url } }]),
    );
  }
  return {
    type: 'human',
    id: `view-image-context:${newId()}`,
    content: [{ type: 'text', text: "Here are the images you've viewed:" }, ...blocks],
    additional_kwargs: { hide_from_ui: true },
    response_metadata: {},
  };
}

/** The image as a data URL; undefined when it was changed since it was viewed, or cannot be read. */
async function dataUrl(
  path: string,
  { mime_type, size }: ViewedImage,
  { sandbox, run }: Reader,
): Promise<string | undefined> {
  const scope = { userId: run.userId, threadId: run.threadId, epoch: run.epoch };
  const parts: Uint8Array[] = [];
  for (let offset = 0; offset < size; offset += MAX_REPLY_FILE_BYTES) {
    try {
      const request = { path, offset, max_bytes: MAX_REPLY_FILE_BYTES };
      const part = await sandbox.readBytes(scope, request, run.signal);
      if (part.outcome === 'refused' || part.total_bytes !== size) return undefined;
      parts.push(Buffer.from(part.base64, 'base64'));
    } catch (error) {
      if (run.signal.aborted || !(error instanceof AppError) || error.code === 'fenced') throw error;
      run.logger.warn({ error, path }, 'an image could not be read for the model');
      return undefined;
    }
  }
  const bytes = Buffer.concat(parts);
  return bytes.length === size ? `data:${mime_type};base64,${bytes.toString('base64')}` : undefined;
}
