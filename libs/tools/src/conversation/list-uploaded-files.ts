import {
  type AnyTool,
  defineTool,
  escapeName,
  formatSize,
  type SandboxPort,
  listUploadNames,
  readUploadSizes,
  uploadsPath,
} from '@caribou/core';
import { z } from 'zod';
import { scopeOf } from '../sandbox/sandbox-request.js';

const MAX_FILES = 500;

/** Lists the files that the user uploaded to the thread, with their sizes. */
export function listUploadedFilesTool(sandbox: SandboxPort): AnyTool {
  return defineTool({
    name: 'list_uploaded_files',
    group: 'file:read',
    description:
      'List all files that the person uploaded to this conversation, with sizes and paths. A document has its text as ' +
      'Markdown (.md) beside it. In names &lt; &gt; &amp; stand for < > &.',
    input: z.object({}),
    async run(_, context) {
      const look = { sandbox, scope: scopeOf(context), signal: context.run.signal };
      const names = await listUploadNames(look, MAX_FILES + 1);
      const shown = names.slice(0, MAX_FILES);
      const sizes = await readUploadSizes(look, shown);
      const lines = shown.flatMap((name) => {
        const bytes = sizes.get(name);
        return bytes === undefined ? [] : [`${escapeName(uploadsPath(name))} (${formatSize(bytes)})`];
      });
      if (lines.length === 0) return { content: 'No files were uploaded.' };
      const more = names.length > MAX_FILES ? [`There are more than ${MAX_FILES}; use glob to find others.`] : [];
      return { content: [...lines, ...more].join('\n') };
    },
  });
}
