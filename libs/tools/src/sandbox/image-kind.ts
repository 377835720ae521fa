const EXTENSIONS: Readonly<Record<string, string>> = {
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  png: 'image/png',
  webp: 'image/webp',
  gif: 'image/gif',
};

/** Bytes at the beginning of a file that identify any of the kinds. */
export const IMAGE_HEAD_BYTES = 16;
export const IMAGE_EXTENSIONS = Object.keys(EXTENSIONS).map((name) => `.${name}`);

/** The image type by a file's extension; undefined for unsupported types. */
export function kindByName(path: string): string | undefined {
  const extension = /\.([A-Za-z0-9]+)$/.exec(path)?.[1]?.toLowerCase() ?? '';
  return Object.hasOwn(EXTENSIONS, extension) ? EXTENSIONS[extension] : undefined;
}

/** The image type by a file's first bytes. */
export function kindByContent(head: Uint8Array): string | undefined {
  const text = Buffer.from(head).toString('latin1');
  if (text.startsWith('\xff\xd8\xff')) return 'image/jpeg';
  if (text.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png';
  if (/^GIF8[79]a/.test(text)) return 'image/gif';
  if (/^RIFF[^]{4}WEBP/.test(text)) return 'image/webp';
  return undefined;
}
