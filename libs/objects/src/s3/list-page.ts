import type { ObjectInfo, ObjectPage } from '@caribou/core';
import { isKey } from '../common/object-key.js';
import { StoreFailure } from '../common/store-failure.js';
import { childText, parseXml, type XmlElement, XmlError } from './xml.js';

/** More than a page of 1,000 of the longest keys. */
export const MAX_PAGE_BYTES = 4 * 1024 * 1024;

/**
 * Reads an answer to ListObjectsV2. Objects whose names no store of ours gives are left out: something else has put them there.
 *
 * @param prefix of the store, which is cut off the keys
 * @throws {StoreFailure} for an answer that is not a list in order
 */
export const parsePage = (text: string, prefix: string): ObjectPage => understood(() => readPage(text, prefix));

function readPage(text: string, prefix: string): ObjectPage {
  const root = parseXml(text, ['ListBucketResult']);
  const decode = childText(root, 'EncodingType') === 'url' ? decodeName : (name: string) => name;
  const contents = root.children.filter(({ name }) => name === 'Contents');
  const names = contents.map((entry) => decode(required(entry, 'Key')));
  names.forEach((name, index) => {
    if (!name.startsWith(prefix) || (index > 0 && name <= (names[index - 1] ?? '')))
      throw notUnderstood('a list of objects is not in the order of their names');
  });
  const objects = contents.map((entry, index) => infoOf(entry, (names[index] ?? '').slice(prefix.length)));
  const last = names.at(-1);
  if (childText(root, 'IsTruncated') !== 'true') return { objects: objects.filter(({ key }) => isKey(key)) };
  if (last === undefined) throw notUnderstood('a list of objects is cut, but empty');
  return { objects: objects.filter(({ key }) => isKey(key)), next: last.slice(prefix.length) };
}

function infoOf(entry: XmlElement, key: string): ObjectInfo {
  const size = Number(required(entry, 'Size'));
  const modifiedMs = Date.parse(required(entry, 'LastModified'));
  if (!Number.isSafeInteger(size) || Number.isNaN(modifiedMs))
    throw notUnderstood('a list of objects has an entry without size or time');
  return { key, size, modifiedMs };
}

/** Reads an answer with one value, such as the id of an upload. @throws {StoreFailure} when it is not there */
export function parseValue(text: string, root: string, name: string): string {
  return understood(() => required(parseXml(text, [root]), name));
}

export interface UnfinishedUpload {
  readonly fullKey: string;
  readonly uploadId: string;
  readonly startedMs: number;
}

/** Reads an answer to ListMultipartUploads. @throws {StoreFailure} when it is not one */
export const parseUploads = (text: string): readonly UnfinishedUpload[] =>
  understood(() =>
    parseXml(text, ['ListMultipartUploadsResult'])
      .children.filter(({ name }) => name === 'Upload')
      .map((entry) => ({
        fullKey: required(entry, 'Key'),
        uploadId: required(entry, 'UploadId'),
        startedMs: Date.parse(required(entry, 'Initiated')),
      })),
  );

function required(element: XmlElement, name: string): string {
  const text = childText(element, name);
  if (text === undefined || text === '') throw new XmlError(`${element.name} has no ${name}`);
  return text;
}

/** In these names a space is a plus sign. */
function decodeName(name: string): string {
  try {
    return decodeURIComponent(name.replaceAll('+', '%20'));
  } catch (cause) {
    throw new XmlError('a name is not encoded as it says', { cause });
  }
}

export function understood<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (error instanceof XmlError) throw notUnderstood(`an answer is not understood: ${error.message}`, error);
    throw error;
  }
}

const notUnderstood = (text: string, cause?: unknown): StoreFailure => new StoreFailure('protocol', text, { cause });
