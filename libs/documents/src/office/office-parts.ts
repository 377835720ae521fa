import { posix } from 'node:path';
import { InvalidRequestError } from '@caribou/contracts';
import type { DocumentLimits } from '../limits.js';
import { descendants, type XmlElement, xmlTree } from './xml.js';
import { xmlParts } from './zip-parts.js';

/** An Office Open XML file: parts by name, and the links between them. */
export interface OfficeFile {
  /** @throws InvalidRequestError when the part is missing */
  tree(name: string): XmlElement;
  bytes(name: string): Uint8Array | undefined;
  /** The targets of the links of the part `name`, by link id. External links are omitted. */
  links(name: string): ReadonlyMap<string, Link>;
}

interface Link {
  readonly target: string;
  /** The last word of the link's type, such as `slide` or `notesSlide`. */
  readonly type: string;
}

/** Opens the file. @throws TooLargeError, InvalidRequestError */
export async function officeFile(file: Buffer, limits: DocumentLimits): Promise<OfficeFile> {
  const parts = await xmlParts(file, limits);
  const tree = (name: string) => {
    const part = parts.get(name);
    if (part === undefined) throw new InvalidRequestError(`the file has no part ${name.slice(0, 100)}`);
    return xmlTree(part, limits);
  };
  return {
    tree,
    bytes: (name) => parts.get(name),
    links: (name) => {
      const folder = posix.dirname(name);
      const relations = `${folder}/_rels/${posix.basename(name)}.rels`;
      if (!parts.has(relations)) return new Map();
      const links = [...descendants(tree(relations), 'Relationship')]
        .filter(({ attributes }) => attributes.TargetMode !== 'External')
        .map(({ attributes }): [string, Link] => [
          attributes.Id ?? '',
          {
            target: posix.resolve('/', folder, attributes.Target ?? '').slice(1),
            type: posix.basename(attributes.Type ?? ''),
          },
        ]);
      return new Map(links);
    },
  };
}
