import { TooLargeError } from '@caribou/contracts';
import type { ConversionJob } from './conversion-job.js';
import type { ConversionKind } from '../kinds.js';
import type { DocumentLimits } from '../limits.js';
import { kindOfContent } from './office-content.js';

type Converter = (file: Buffer, limits: DocumentLimits, url?: string) => string | Promise<string>;

/** Each loads its parsers on demand, as a process converts one file. */
const converters: Readonly<Record<ConversionKind, () => Promise<Converter>>> = {
  pdf: async () => (await import('../text/pdf.js')).pdfToMarkdown,
  doc: async () => (await import('../legacy/doc.js')).docToMarkdown,
  docx: async () => (await import('../office/docx.js')).docxToMarkdown,
  ppt: async () => (await import('../legacy/ppt.js')).pptToMarkdown,
  pptx: async () => (await import('../office/pptx.js')).pptxToMarkdown,
  xls: async () => (await import('../legacy/xls.js')).xlsToMarkdown,
  xlsx: async () => (await import('../office/xlsx.js')).xlsxToMarkdown,
  html: async () => (await import('../text/html.js')).htmlToMarkdown,
  csv: async () => (await import('../text/csv.js')).csvToMarkdown,
  page: async () => (await import('../text/page.js')).pageToMarkdown,
};

/** Cuts text to `maxBytes` of UTF-8 between characters, with a note. */
function cutToBytes(markdown: string, maxBytes: number): string {
  if (Buffer.byteLength(markdown) <= maxBytes) return markdown;
  const head = new TextDecoder().decode(Buffer.from(markdown).subarray(0, maxBytes)).replace(/\uFFFD$/, '');
  return `${head}\n\n*Left out: what follows the first ${maxBytes} bytes.*`;
}

/**
 * Converts the file to Markdown. Runs parsers in this process, so it is only called in the conversion process. @throws
 * AppError, Error
 */
export async function convert(file: Buffer, { kind, limits, url }: ConversionJob): Promise<string> {
  if (file.length > limits.maxInputBytes)
    throw new TooLargeError(`the file is larger than ${limits.maxInputBytes} bytes`);
  const toMarkdown = await converters[kindOfContent(file, kind, limits)]();
  const markdown = await toMarkdown(file, limits, url);
  return `${cutToBytes(markdown.trim(), limits.maxOutputBytes)}\n`;
}
