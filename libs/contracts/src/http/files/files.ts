import { z } from 'zod';
import { route } from '../route.js';
import { ThreadPath } from '../threads/threads.js';

const group = 'Files';

/** A file in a thread's uploads. Paths are those in the sandbox, never the server's. */
const UploadedFile = z.object({
  filename: z.string(),
  /** Size in bytes. */
  size: z.number().int(),
  path: z.string(),
  virtual_path: z.string(),
  artifact_url: z.string(),
  /** The extension with its dot; empty without one. */
  extension: z.string(),
  /** Seconds since 1970. */
  modified: z.number(),
  /** State of a document's conversion to Markdown; absent for files that are not converted. */
  conversion: z.enum(['pending', 'done', 'failed']).optional(),
  /** Why it failed. */
  conversion_error: z.string().optional(),
  /** The document as Markdown, if that file exists and is unchanged since the conversion. */
  markdown_file: z.string().optional(),
  markdown_path: z.string().optional(),
  markdown_virtual_path: z.string().optional(),
  markdown_artifact_url: z.string().optional(),
});
export type UploadedFile = z.infer<typeof UploadedFile>;

const UploadReply = z.object({
  /** False when a file was skipped. */
  success: z.boolean(),
  message: z.string(),
  files: z.array(UploadedFile.extend({ original_filename: z.string().optional() })),
  skipped_files: z.array(z.string()),
});
export type UploadReply = z.infer<typeof UploadReply>;

const UploadListReply = z.object({
  files: z.array(UploadedFile),
  count: z.number().int(),
  /** There are more files than the list shows. */
  truncated: z.boolean(),
});
export type UploadListReply = z.infer<typeof UploadListReply>;

const upload = route({
  name: 'uploadFiles',
  group,
  method: 'POST',
  path: '/threads/:thread_id/uploads',
  summary:
    'Upload files to a thread, which need not exist yet; a file of the same name is replaced. ' +
    'PDF, DOC, DOCX, PPT, PPTX, XLS, XLSX, HTML and CSV get a Markdown file beside them, large ones after the answer.',
  params: ThreadPath,
  consumes: 'multipart/form-data',
  body: z.object({ files: z.array(z.string().meta({ format: 'binary' })) }).optional(),
  reply: UploadReply,
  refusals: [400, 413, 415],
});

const list = route({
  name: 'listUploads',
  group,
  method: 'GET',
  path: '/threads/:thread_id/uploads/list',
  summary: 'The uploaded files of a thread, by name, with the state of document conversions.',
  params: ThreadPath,
  reply: UploadListReply,
});

const limits = route({
  name: 'uploadLimits',
  group,
  method: 'GET',
  path: '/threads/:thread_id/uploads/limits',
  summary: 'Maximum files of one upload request, and maximum bytes of a file and of a request.',
  params: ThreadPath,
  reply: z.object({
    max_files: z.number().int(),
    max_file_size: z.number().int(),
    max_total_size: z.number().int(),
  }),
});

const remove = route({
  name: 'deleteUpload',
  group,
  method: 'DELETE',
  path: '/threads/:thread_id/uploads/:filename',
  summary: 'Delete an uploaded file of a thread, and the Markdown that was made from it.',
  params: ThreadPath.extend({ filename: z.string() }),
  reply: z.object({ success: z.literal(true), message: z.string() }),
  refusals: [400, 404],
});

const artifact = route({
  name: 'getArtifact',
  group,
  method: 'GET',
  path: '/threads/:thread_id/artifacts/*',
  summary:
    'A file of a thread by its virtual path, such as mnt/user-data/outputs/report.md, or inside a .skill archive, such as ' +
    'mnt/user-data/outputs/x.skill/SKILL.md; ranges and ETags work.',
  params: ThreadPath.extend({ '*': z.string() }),
  query: z.object({ download: z.string().optional() }),
  reply: 'file',
  refusals: [400, 404, 413, 416],
});

/** Largest text that can be edited over HTTP, in bytes; the ETag of files up to this size is the SHA-256 of their content. */
export const MAX_EDITED_BYTES = 2 * 1024 * 1024;

const editArtifact = route({
  name: 'editArtifact',
  group,
  method: 'PUT',
  path: '/threads/:thread_id/artifacts/*',
  summary:
    'Replace a UTF-8 text in the outputs of a thread, at most 2 MB; 412 when it does not match the expected hash.',
  params: ThreadPath.extend({ '*': z.string() }),
  body: z.object({
    content: z.string().max(MAX_EDITED_BYTES),
    expected_sha256: z.string().regex(/^[0-9a-fA-F]{64}$/, 'must be a SHA-256 in hex'),
  }),
  reply: z.object({ path: z.string(), sha256: z.string(), size: z.number().int() }),
  refusals: [400, 404, 409, 412, 413, 415],
});

export const fileRoutes = { upload, list, limits, remove, artifact, editArtifact };
