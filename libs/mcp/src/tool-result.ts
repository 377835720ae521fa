import { createHash } from 'node:crypto';
import { AppError } from '@caribou/contracts';
import type { SandboxPort, ToolContext, ToolOutcome } from '@caribou/core';
import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/sdk/types.js';

/** Limit of all text of a result. */
const MAX_TEXT_CHARS = 1_000_000;
const MAX_FILES = 20;
/** Limit of all files of a result. */
const MAX_FILE_BYTES = 20 * 1024 * 1024;
/** Bytes of one write to the sandbox; encoded in base64 they are within the limit of a write. */
const PIECE_BYTES = 768 * 1024;

const FOLDER = '/mnt/user-data/outputs/mcp';

export interface ResultParts {
  /** Name of the tool, for file names. */
  readonly tool: string;
  readonly context: ToolContext;
  readonly files: Pick<SandboxPort, 'write'>;
}

/**
 * Converts a result for the model: texts are copied, while images, audio and other binary data are written to files in the
 * thread's outputs and replaced by their paths. The state stays small, models without vision can still pass images on, and
 * others read them with view_image.
 */
export async function toOutcome(result: CallToolResult, parts: ResultParts): Promise<ToolOutcome> {
  const writer = new ResultFiles(parts);
  const texts: string[] = [];
  for (const block of result.content) texts.push(await textOf(block, writer));
  if (texts.length === 0 && result.structuredContent !== undefined)
    texts.push(JSON.stringify(result.structuredContent, null, 2));
  const text = texts.filter((part) => part !== '').join('\n');
  const content = text === '' ? '(no output)' : cut(text);
  return result.isError === true ? { content: `Error: ${content}`, isError: true } : { content };
}

const cut = (text: string): string =>
  text.length <= MAX_TEXT_CHARS
    ? text
    : `${text.slice(0, MAX_TEXT_CHARS)}\n... [cut: ${text.length - MAX_TEXT_CHARS} more characters]`;

async function textOf(block: ContentBlock, files: ResultFiles): Promise<string> {
  switch (block.type) {
    case 'text':
      return block.text;
    case 'image':
      return await files.save({ what: 'Image', mimeType: block.mimeType, base64: block.data });
    case 'audio':
      return await files.save({ what: 'Audio', mimeType: block.mimeType, base64: block.data });
    case 'resource_link':
      return `[resource ${block.uri}${block.mimeType === undefined ? '' : ` (${block.mimeType})`}: ${block.title ?? block.name}]`;
    case 'resource': {
      const { resource } = block;
      const mimeType = resource.mimeType ?? 'application/octet-stream';
      const head = `[resource ${resource.uri} (${mimeType})]`;
      if ('text' in resource) return `${head}\n${resource.text}`;
      return `${head}\n${await files.save({ what: 'File', mimeType, base64: resource.blob })}`;
    }
  }
}

interface Bytes {
  readonly what: string;
  readonly mimeType: string;
  readonly base64: string;
}

const EXTENSIONS: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/gif': 'gif',
  'image/webp': 'webp',
  'image/svg+xml': 'svg',
  'audio/wav': 'wav',
  'audio/mpeg': 'mp3',
  'audio/ogg': 'ogg',
  'application/pdf': 'pdf',
  'application/json': 'json',
  'application/gzip': 'gz',
  'application/zip': 'zip',
  'text/plain': 'txt',
  'text/csv': 'csv',
  'text/html': 'html',
  'text/markdown': 'md',
};

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 8);

/** Writes the files of one result to the thread's outputs, under names that a repeated call also uses. */
class ResultFiles {
  private count = 0;
  private bytes = 0;

  constructor(private readonly parts: ResultParts) {}

  /** Saves the bytes; returns one line with the path, or with the reason why they are not saved. */
  async save({ what, mimeType, base64 }: Bytes): Promise<string> {
    const bytes = Buffer.from(base64, 'base64');
    const kind = `${mimeType.slice(0, 100)}, ${bytes.length} bytes`;
    this.count += 1;
    this.bytes += bytes.length;
    if (this.count > MAX_FILES || this.bytes > MAX_FILE_BYTES)
      return `[${what} (${kind}) was left out: too much for one result]`;
    const problem = await this.write(this.pathOf(mimeType), bytes);
    if (problem !== undefined) return `[${what} (${kind}) could not be saved: ${problem}]`;
    const hint = what === 'Image' ? '; view_image shows it' : '';
    return `[${what} (${kind}) was saved as ${this.pathOf(mimeType)}${hint}]`;
  }

  private pathOf(mimeType: string): string {
    const { tool, context } = this.parts;
    const call = hashOf(context.key);
    const extension = EXTENSIONS[mimeType.split(';', 1)[0]?.trim().toLowerCase() ?? ''] ?? 'bin';
    return `${FOLDER}/${tool}-${call}-${this.count}.${extension}`;
  }

  /** Writes in pieces with keys of their own, as a repeated call may return other bytes; returns the problem, if any. */
  private async write(path: string, bytes: Buffer): Promise<string | undefined> {
    const { context, files } = this.parts;
    const { userId, threadId, epoch, signal } = context.run;
    for (let at = 0; at === 0 || at < bytes.length; at += PIECE_BYTES) {
      const content = bytes.subarray(at, at + PIECE_BYTES).toString('base64');
      const key = `${context.key}:file-${this.count}-${at / PIECE_BYTES}-${hashOf(content)}`;
      try {
        const request = { key, path, content, encoding: 'base64', append: at > 0 } as const;
        const written = await files.write({ userId, threadId, epoch }, request, signal);
        if (written.outcome !== 'ok') return written.reason;
      } catch (error) {
        if (signal.aborted || !(error instanceof AppError) || error.code === 'fenced') throw error;
        return error.message;
      }
    }
    return undefined;
  }
}
