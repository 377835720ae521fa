/** How a file is shown. */
export type PreviewKind = 'image' | 'audio' | 'video' | 'pdf' | 'html' | 'markdown' | 'text';

/** Bytes of a text that are read for its preview. */
export const MAX_TEXT_BYTES = 256 * 1024;
/** Bytes of an image, a sound or a film that are shown; they are in memory as a whole. */
export const MAX_MEDIA_BYTES = 64 * 1024 * 1024;

const mediaTypes: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  avif: 'image/avif',
  bmp: 'image/bmp',
  ico: 'image/x-icon',
  // As an image, a browser runs no script of it and loads nothing for it.
  svg: 'image/svg+xml',
  mp3: 'audio/mpeg',
  wav: 'audio/wav',
  ogg: 'audio/ogg',
  oga: 'audio/ogg',
  opus: 'audio/ogg',
  m4a: 'audio/mp4',
  flac: 'audio/flac',
  mp4: 'video/mp4',
  m4v: 'video/mp4',
  webm: 'video/webm',
  ogv: 'video/ogg',
};

const kinds: Readonly<Record<string, PreviewKind>> = {
  pdf: 'pdf',
  html: 'html',
  htm: 'html',
  xhtml: 'html',
  md: 'markdown',
  markdown: 'markdown',
};

const extensionOf = (path: string): string =>
  /\.([^./]+)$/.exec(path.slice(path.lastIndexOf('/') + 1))?.[1]?.toLowerCase() ?? '';

/** The type that a blob of a file gets; undefined for files that are not shown as media. The file's own claims do not count. */
export const mediaTypeOf = (path: string): string | undefined => {
  const extension = extensionOf(path);
  return Object.hasOwn(mediaTypes, extension) ? mediaTypes[extension] : undefined;
};

/** How a file is shown, by its name. A file that is no text is seen by its content. */
export function previewKindOf(path: string): PreviewKind {
  const [family] = mediaTypeOf(path)?.split('/') ?? [];
  if (family === 'image' || family === 'audio' || family === 'video') return family;
  const extension = extensionOf(path);
  return (Object.hasOwn(kinds, extension) ? kinds[extension] : undefined) ?? 'text';
}

/** The beginning of a file as text; undefined when it is not text. A character that was cut at the end is left out. */
export function toText(bytes: Uint8Array): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
  } catch (error) {
    if (typeof error === 'object' && error !== null && 'name' in error && error.name === 'TypeError') return undefined;
    throw error;
  }
}
