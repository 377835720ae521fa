import type { SandboxReply } from '@caribou/contracts';
import {
  type AnyTool,
  defineTool,
  formatVirtualPath,
  parseVirtualPath,
  type SandboxPort,
  type ToolOutcome,
} from '@caribou/core';
import { z } from 'zod';
import { IMAGE_EXTENSIONS, IMAGE_HEAD_BYTES, kindByContent, kindByName } from './image-kind.js';
import { toFailedOutcome, refusalText, scopeOf } from './sandbox-request.js';

/** Maximum size of an image for a model. */
const MAX_IMAGE_BYTES = 20 * 1024 * 1024;

const Input = z.object({
  image_path: z
    .string()
    .min(1)
    .max(4096)
    .describe('Absolute path of the image, below /mnt/user-data: jpg, jpeg, png, webp or gif.'),
});

/** Shows an image of the thread to the model: only its path, type and size are stored in the state. */
export function viewImageTool(sandbox: SandboxPort): AnyTool {
  return defineTool({
    name: 'view_image',
    description:
      'Look at an image file. You see it right after the call. jpg, jpeg, png, webp and gif, at most 20 MB. ' +
      'Not for files that are no images, and not for several images at once.',
    input: Input,
    async run({ image_path: path }, context) {
      if (!path.startsWith('/')) return toFailedOutcome(`Path must be absolute: ${path}`);
      const parsed = parseVirtualPath(path);
      if (parsed === null) return toFailedOutcome(refusalText('outside', path) ?? path);
      const promised = kindByName(path);
      if (promised === undefined) return toFailedOutcome(`Unsupported image format: ${path}. ${supported}`);
      const head = { path, offset: 0, max_bytes: IMAGE_HEAD_BYTES, key: context.key };
      const read = await sandbox.readBytes(scopeOf(context), head, context.run.signal);
      return toImageOutcome(read, { path, promised, key: formatVirtualPath(parsed) });
    },
  });
}

const supported = `Supported formats: ${IMAGE_EXTENSIONS.join(', ')}.`;

interface Wanted {
  readonly path: string;
  /** Type by the file name. */
  readonly promised: string;
  /** The canonical path. */
  readonly key: string;
}

function toImageOutcome(read: SandboxReply<'readBytes'>, { path, promised, key }: Wanted): ToolOutcome {
  if (read.outcome === 'refused') return toFailedOutcome(formatRefusal(read.reason, path));
  if (read.total_bytes > MAX_IMAGE_BYTES) {
    return toFailedOutcome(
      `Image is ${read.total_bytes} bytes; at most ${MAX_IMAGE_BYTES} bytes can be viewed: ${path}`,
    );
  }
  const kind = kindByContent(Buffer.from(read.base64, 'base64'));
  if (kind === undefined) return toFailedOutcome(`File is not an image: ${path}. ${supported}`);
  if (kind !== promised) return toFailedOutcome(`File name does not fit its content, which is ${kind}: ${path}`);
  const image = { mime_type: kind, size: read.total_bytes };
  return { content: 'Successfully read image', update: { viewed_images: { [key]: image } } };
}

function formatRefusal(reason: string, path: string): string {
  if (reason === 'not_found') return `Image file not found: ${path}`;
  if (reason === 'is_directory' || reason === 'not_regular') return `Path is not a file: ${path}`;
  if (reason === 'permission') return `Permission denied reading file: ${path}`;
  return refusalText(reason, path) ?? `Could not read file '${path}': ${reason}`;
}
