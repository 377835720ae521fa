import sax from 'sax';

/** An element of an answer, without attributes and namespaces. */
export interface XmlElement {
  readonly name: string;
  /** The text directly in it. */
  text: string;
  readonly children: XmlElement[];
}

/** Answers of S3 have five. */
const MAX_DEPTH = 12;

/** The text is not the XML that was expected. */
export class XmlError extends Error {}

/**
 * Parses an answer, whose size the caller has bounded. Entities other than the five of XML are errors, so a document type can define none.
 *
 * @throws {XmlError} unless the text is well-formed and its root is one of `roots`
 */
export function parseXml(text: string, roots: readonly string[]): XmlElement {
  const top: XmlElement = { name: '', text: '', children: [] };
  const open: XmlElement[] = [top];
  const parser = sax.parser(true, { trim: false });
  const fail = (what: string): never => {
    throw new XmlError(what);
  };
  parser.onerror = (error) => fail(error.message.split('\n')[0] ?? 'malformed');
  parser.ondoctype = () => fail('it has a document type');
  parser.onopentag = ({ name }) => {
    if (open.length > MAX_DEPTH) fail(`it is nested more than ${MAX_DEPTH} deep`);
    const element: XmlElement = { name: name.slice(name.indexOf(':') + 1), text: '', children: [] };
    open.at(-1)?.children.push(element);
    open.push(element);
  };
  parser.onclosetag = () => void open.pop();
  const addText = (piece: string): void => {
    const element = open.at(-1);
    if (element !== undefined) element.text += piece;
  };
  parser.ontext = addText;
  parser.oncdata = addText;
  // A store that takes long sends spaces meanwhile.
  parser.write(text.trimStart()).close();
  const root = top.children[0] ?? fail('it is empty');
  return roots.includes(root.name) ? root : fail(`its root is not ${roots.join(' or ')}`);
}

/** The text of a child; undefined when there is no such child. */
export const childText = ({ children }: XmlElement, name: string): string | undefined =>
  children.find((child) => child.name === name)?.text.trim();

/** Text for the inside of an element. */
export const escapeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
