import { convertToHtml, images } from 'mammoth';
import { htmlTextToMarkdown } from '../text/html.js';
import type { DocumentLimits } from '../limits.js';
import { readXml } from './xml.js';
import { xmlParts } from './zip-parts.js';

/** Headings, lists, tables, notes of a Word file; pictures are dropped. @throws TooLargeError, InvalidRequestError */
export async function docxToMarkdown(bytes: Buffer, limits: DocumentLimits): Promise<string> {
  // mammoth opens the container itself, without limits: every part is measured and read by us before.
  for (const part of (await xmlParts(bytes, limits)).values()) readXml(part, limits, {});
  const { value: html } = await convertToHtml(
    { buffer: bytes },
    { convertImage: images.imgElement(() => Promise.resolve({ src: '' })), externalFileAccess: false },
  );
  return htmlTextToMarkdown(html, limits);
}
