/** How a browser gets a file: `inline` only when it executes nothing in it. */
export interface Presentation {
  readonly contentType: string;
  readonly inline: boolean;
}

const TEXT = 'text/plain; charset=utf-8';

const inlineTypes: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  avif: 'image/avif',
  bmp: 'image/bmp',
  ico: 'image/x-icon',
  mp3: 'audio/mpeg',
  wav: 'audio/wav',
  ogg: 'audio/ogg',
  mp4: 'video/mp4',
  webm: 'video/webm',
  pdf: 'application/pdf',
  json: 'application/json; charset=utf-8',
  md: 'text/markdown; charset=utf-8',
  csv: 'text/csv; charset=utf-8',
  tsv: 'text/tab-separated-values; charset=utf-8',
};

/** Markup that a browser would execute as a page of this origin; such files are downloaded. */
const activeTypes: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  htm: 'text/html; charset=utf-8',
  xhtml: 'application/xhtml+xml',
  xht: 'application/xhtml+xml',
  svg: 'image/svg+xml',
  svgz: 'image/svg+xml',
  xml: 'application/xml',
  xsl: 'application/xml',
  xslt: 'application/xml',
  mht: 'application/octet-stream',
  mhtml: 'application/octet-stream',
};

const downloadTypes: Readonly<Record<string, string>> = {
  zip: 'application/zip',
  gz: 'application/gzip',
  doc: 'application/msword',
  ppt: 'application/vnd.ms-powerpoint',
  xls: 'application/vnd.ms-excel',
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  pptx: 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
};

const lookUp = (table: Readonly<Record<string, string>>, extension: string): string | undefined =>
  Object.hasOwn(table, extension) ? table[extension] : undefined;

/**
 * Content type of a file by its extension, and whether it is shown inline. A file with another extension is plain text when
 * its first bytes contain no NUL, otherwise a download. Code is plain text: with `nosniff` no page can load it as a script
 * or a style.
 */
export function presentationOf(name: string, head: Uint8Array): Presentation {
  const extension = name.includes('.') ? name.slice(name.lastIndexOf('.') + 1).toLowerCase() : '';
  const inlineType = lookUp(inlineTypes, extension);
  if (inlineType !== undefined) return { contentType: inlineType, inline: true };
  const attachedType = lookUp(activeTypes, extension) ?? lookUp(downloadTypes, extension);
  if (attachedType !== undefined) return { contentType: attachedType, inline: false };
  return head.includes(0)
    ? { contentType: 'application/octet-stream', inline: false }
    : { contentType: TEXT, inline: true };
}

/**
 * The Content-Disposition header (RFC 6266) with the name in the form of RFC 5987, and in a plain form for old clients.
 */
export function dispositionOf(name: string, inline: boolean): string {
  const plain = name.replace(/[^\u0020-\u007e]|["\\%]/g, '_');
  const encoded = encodeURIComponent(name).replace(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `${inline ? 'inline' : 'attachment'}; filename="${plain}"; filename*=UTF-8''${encoded}`;
}
