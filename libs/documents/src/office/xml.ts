import { InvalidRequestError, TooLargeError } from '@caribou/contracts';
import { parser, type Tag } from 'sax';
import type { DocumentLimits } from '../limits.js';

type XmlLimits = Pick<DocumentLimits, 'maxDepth' | 'maxElements'>;

export type XmlAttributes = Readonly<Record<string, string>>;

export interface XmlEvents {
  /** `name` without its prefix; attributes keep theirs. */
  open?(name: string, attributes: XmlAttributes): void;
  close?(name: string): void;
  text?(text: string): void;
}

const CHUNK_CHARS = 64 * 1024;
const localName = (name: string) => name.slice(name.indexOf(':') + 1);

/**
 * Parses an XML part. DTDs are refused, so the only entities are XML's five and character references.
 *
 * @throws InvalidRequestError for a DTD or XML that is not well formed
 * @throws TooLargeError when depth or element count exceed their limit
 */
export function readXml(part: Uint8Array, limits: XmlLimits, events: XmlEvents): void {
  const reader = parser(true, { position: false });
  let depth = 0;
  let elements = 0;
  reader.onerror = (error) => {
    throw new InvalidRequestError(
      `a part of the file is not well-formed XML: ${error.message.split('\n', 1)[0] ?? ''}`,
    );
  };
  reader.ondoctype = () => {
    throw new InvalidRequestError('a part of the file has a document type definition, which is refused');
  };
  reader.onopentag = (tag) => {
    if (++depth > limits.maxDepth) throw new TooLargeError(`XML is nested deeper than ${limits.maxDepth} elements`);
    if (++elements > limits.maxElements) throw new TooLargeError(`a part has more than ${limits.maxElements} elements`);
    events.open?.(localName(tag.name), (tag as Tag).attributes);
  };
  reader.onclosetag = (name) => {
    depth--;
    events.close?.(localName(name));
  };
  reader.ontext = (text) => events.text?.(text);
  reader.oncdata = (text) => events.text?.(text);
  const text = new TextDecoder().decode(part);
  for (let at = 0; at < text.length; at += CHUNK_CHARS) reader.write(text.slice(at, at + CHUNK_CHARS));
  reader.close();
}

export interface XmlElement {
  readonly name: string;
  readonly attributes: XmlAttributes;
  readonly children: readonly XmlElement[];
  /** The text directly inside the element, joined. */
  readonly text: string;
}

type Growing = { name: string; attributes: XmlAttributes; children: Growing[]; text: string };

/** Parses the whole part into a tree below a nameless root. @throws as `readXml` */
export function xmlTree(part: Uint8Array, limits: XmlLimits): XmlElement {
  const root: Growing = { name: '', attributes: {}, children: [], text: '' };
  const open = [root];
  readXml(part, limits, {
    open: (name, attributes) => {
      const element: Growing = { name, attributes, children: [], text: '' };
      open.at(-1)?.children.push(element);
      open.push(element);
    },
    close: () => void open.pop(),
    text: (text) => {
      const element = open.at(-1);
      if (element !== undefined) element.text += text;
    },
  });
  return root;
}

/** The elements with these names below `element`, in document order. */
export function* descendants(element: XmlElement, ...names: readonly string[]): Generator<XmlElement> {
  for (const child of element.children) {
    if (names.includes(child.name)) yield child;
    else yield* descendants(child, ...names);
  }
}

/** The first element with that name below `element`. */
export function descendant(element: XmlElement, name: string): XmlElement | undefined {
  const [first] = descendants(element, name);
  return first;
}
