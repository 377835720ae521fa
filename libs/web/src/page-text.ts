/** How a page is converted, by its content type. */
export type PageKind = 'html' | 'pdf' | 'text';

const TEXT_TYPES = /^(text\/.+|application\/(json|xml|yaml|x-yaml|toml|javascript|x-ndjson|.+\+(json|xml|yaml)))$/;
/** Bytes in which HTML declares its encoding, as browsers search for it (HTML standard, prescan). */
const PRESCAN_BYTES = 1024;

/** The kind of a page; undefined when it has no text. A missing content type means HTML, as in browsers. */
export function pageKindOf(contentType: string): PageKind | undefined {
  const type = (contentType.split(';')[0] ?? '').trim().toLowerCase();
  if (['', 'text/html', 'application/xhtml+xml'].includes(type)) return 'html';
  if (type === 'application/pdf') return 'pdf';
  return TEXT_TYPES.test(type) ? 'text' : undefined;
}

/** Decodes a page by its byte order mark, the header's charset, the page's declaration, or as UTF-8. */
export function pageText(bytes: Uint8Array, contentType: string): string {
  const declared = /charset\s*=\s*["']?([\w.:-]+)/i.exec(contentType)?.[1];
  const head = Buffer.from(bytes.subarray(0, PRESCAN_BYTES)).toString('latin1');
  const inPage = /<meta[^>]{0,200}charset\s*=\s*["']?([\w.:-]+)/i.exec(head)?.[1];
  return decoderFor(markOf(bytes) ?? declared ?? inPage).decode(bytes);
}

function markOf(bytes: Uint8Array): string | undefined {
  const [first, second, third] = bytes;
  if (first === 0xef && second === 0xbb && third === 0xbf) return 'utf-8';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  return first === 0xff && second === 0xfe ? 'utf-16le' : undefined;
}

function decoderFor(label: string | undefined): TextDecoder {
  try {
    return new TextDecoder(label ?? 'utf-8');
  } catch (error) {
    if (isUnknownEncoding(error)) return new TextDecoder();
    throw error;
  }
}

const isUnknownEncoding = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && 'code' in error && error.code === 'ERR_ENCODING_NOT_SUPPORTED';
