import { convertToHtml, images } from 'mammoth';
import { htmlTextToMarkdown } from '../text/html.js';
import type { DocumentLimits } from '../limits.js';
import { readXml } from './xml.js';
import { xmlParts } from './zip-parts.js';

/**
 * Converts headings, lists, tables and notes of a Word file; pictures are dropped. @throws TooLargeError,
 * InvalidRequestError
 */
export async function docxToMarkdown(bytes: Buffer, limits: DocumentLimits): Promise<string> {
  // mammoth opens the container itself, without limits, so every part is checked and parsed here first.
  for (const part of (await xmlParts(bytes, limits)).values()) readXml(part, limits, {});
  const { value: html } = await convertToHtml(
    { buffer: bytes },
    { convertImage: images.imgElement(() => Promise.resolve({ src: '' })), externalFileAccess: false },
  );
  return htmlTextToMarkdown(html, limits);
}
