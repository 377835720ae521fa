import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Files of Office 97 to 2003: samples that LibreOffice wrote, and files built by hand for what it does not write. */

const SECTOR = 512;
const ENTRY = 128;
const FREE = 0xffffffff;
const END = 0xfffffffe;
const TABLE = 0xfffffffd;

type Sample = 'migration.doc' | 'yukon.doc' | 'herds.xls' | 'tundra.ppt';

/** A sample's bytes. */
export const sampleDocument = (name: Sample): Buffer => readFileSync(join(__dirname, '..', '..', 'samples', name));

const numbers = (...values: readonly number[]): Buffer => {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [index, value] of values.entries()) bytes.writeUInt32LE(value, index * 4);
  return bytes;
};

function entry(
  name: string,
  type: number,
  links: { right: number; child: number; start: number; size: number },
): Buffer {
  const bytes = Buffer.alloc(ENTRY);
  bytes.write(name, 'utf16le');
  bytes.writeUInt16LE(name.length * 2 + 2, 64);
  bytes.writeUInt8(type, 66);
  numbers(FREE, links.right, links.child).copy(bytes, 68);
  numbers(links.start, links.size).copy(bytes, 116);
  return bytes;
}

const padded = (bytes: Buffer): Buffer =>
  Buffer.concat([bytes], Math.max(Math.ceil(bytes.length / SECTOR), 1) * SECTOR);

/** A compound file with these streams, none of them in small sectors. */
export function compoundFileOf(streams: Readonly<Record<string, Buffer>>): Buffer {
  const chains: number[] = [];
  const contents: Buffer[] = [];
  const add = (content: Buffer): number => {
    const whole = padded(content);
    const start = chains.length;
    for (let left = whole.length / SECTOR; left > 0; left--) chains.push(left === 1 ? END : chains.length + 1);
    contents.push(whole);
    return start;
  };
  const all = Object.entries(streams);
  const entries = all.map(([name, content], index) =>
    entry(name, 2, {
      right: index + 1 < all.length ? index + 2 : FREE,
      child: FREE,
      start: add(content),
      size: content.length,
    }),
  );
  const directory = add(
    Buffer.concat([entry('Root Entry', 5, { right: FREE, child: 1, start: END, size: 0 }), ...entries]),
  );
  const perTable = SECTOR / 4;
  const first = chains.length;
  const tables = Math.ceil((first + 1) / (perTable - 1));
  const links = [...chains, ...Array.from({ length: tables }, () => TABLE)];
  while (links.length < tables * perTable) links.push(FREE);
  const header = Buffer.alloc(SECTOR, 0xff);
  Buffer.from('d0cf11e0a1b11ae1', 'hex').copy(header);
  header.fill(0, 8, 0x4c);
  for (const [at, value] of [
    [0x18, 0x3e],
    [0x1a, 3],
    [0x1c, 0xfffe],
    [0x1e, 9],
    [0x20, 6],
  ] as const)
    header.writeUInt16LE(value, at);
  numbers(tables, directory, 0, 0, END, 0, END, 0).copy(header, 0x2c);
  for (let table = 0; table < tables; table++) header.writeUInt32LE(first + table, 0x4c + table * 4);
  return Buffer.concat([header, ...contents, numbers(...links)]);
}

/** A record of a PowerPoint file. */
export function pptRecord(type: number, body: Buffer, kind: { container?: boolean; instance?: number } = {}): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt16LE(((kind.instance ?? 0) << 4) | (kind.container === true ? 0xf : 0), 0);
  head.writeUInt16LE(type, 2);
  head.writeUInt32LE(body.length, 4);
  return Buffer.concat([head, body]);
}

const container = (type: number, ...parts: readonly Buffer[]): Buffer =>
  pptRecord(type, Buffer.concat(parts), { container: true });

interface SlideText {
  readonly title: string;
  readonly lines: readonly string[];
}

const shapeNaming = (text: number): Buffer => container(0xf004, container(0xf00d, pptRecord(0x0f9e, numbers(text))));

/**
 * A presentation as PowerPoint saves it quickly: texts in the list of slides, which shapes name by number, and a second
 * edit that replaces everything of the first. `inSlide` is put into each slide, `times` is how often it names its title.
 */
export function slidesFile(slides: readonly SlideText[], more: { inSlide?: Buffer; times?: number } = {}): Buffer {
  const list = slides.flatMap(({ title, lines }, index) => [
    pptRecord(0x03f3, numbers(index + 2, 0, 0, 256 + index, 0)),
    ...[pptRecord(0x0f9f, numbers(0)), pptRecord(0x0fa0, Buffer.from(title, 'utf16le'))],
    ...[pptRecord(0x0f9f, numbers(1)), pptRecord(0x0fa8, Buffer.from(lines.join('\r'), 'latin1'))],
  ]);
  const shapes = [...Array.from({ length: more.times ?? 1 }, () => shapeNaming(0)), shapeNaming(1)];
  const slide = container(
    0x03ee,
    more.inSlide ?? Buffer.alloc(0),
    container(0x040c, container(0xf002, container(0xf003, ...shapes))),
  );
  const document = container(0x03e8, pptRecord(0x0ff0, Buffer.concat(list), { container: true }));
  const stale = container(0x03e8);
  const written: Buffer[] = [];
  const write = (record: Buffer): number => {
    const at = written.reduce((sum, { length }) => sum + length, 0);
    written.push(record);
    return at;
  };
  const edit = (positions: readonly number[], before: number): number => {
    const directory = write(pptRecord(0x1772, numbers((positions.length << 20) | 1, ...positions)));
    return write(pptRecord(0x0ff5, numbers(0, 0, before, directory, 1, 0, 0)));
  };
  const old = write(stale);
  const firstEdit = edit([old, ...slides.map(() => old)], 0);
  const lastEdit = edit([write(document), ...slides.map(() => write(slide))], firstEdit);
  return compoundFileOf({
    'Current User': pptRecord(0x0ff6, numbers(0x14, 0xe391c05f, lastEdit, 0, 0)),
    'PowerPoint Document': Buffer.concat(written),
  });
}
