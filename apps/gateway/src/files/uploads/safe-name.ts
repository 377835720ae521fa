/** C0, DEL and C1 control characters, lone surrogates, and the backslash that separates on other systems. */
const forbidden =
  /[\u0000-\u001f\u007f-\u009f\\]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

/** Invisible characters that can reverse a displayed name or hide a part of it. */
const invisible = /[\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** Names of devices on Windows, where users may save the file; they are reserved with any extension. */
const device = /^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\.|$)/i;

/** Longest file name in bytes of UTF-8 (NAME_MAX). */
const MAX_NAME_BYTES = 255;

/**
 * The name under which an uploaded file is stored, or null when there is no safe one. Only the last segment of a path
 * counts. Invisible characters, leading dots, and trailing dots and spaces are removed; the name of a device gets a
 * leading `_`.
 */
export function safeName(sent: string): string | null {
  const base = sent.slice(sent.lastIndexOf('/') + 1);
  if (forbidden.test(base)) return null;
  const plain = base
    .normalize('NFC')
    .replace(invisible, '')
    .replace(/^[.\s]+/, '')
    .replace(/[.\s]+$/, '');
  if (plain === '') return null;
  const name = device.test(plain) ? `_${plain}` : plain;
  return Buffer.byteLength(name) > MAX_NAME_BYTES ? null : name;
}

/** The name itself, or with `_1`, `_2`… before its extension when it is taken; null when none is short enough. */
export function freeName(name: string, taken: ReadonlySet<string>): string | null {
  if (!taken.has(name)) return name;
  const dot = name.lastIndexOf('.');
  const [stem, extension] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, ''];
  for (let count = 1; count <= taken.size + 1; count += 1) {
    const other = `${stem}_${count}${extension}`;
    if (!taken.has(other)) return Buffer.byteLength(other) > MAX_NAME_BYTES ? null : other;
  }
  return null;
}
