import { FREE_JSON_LIMITS, InvalidRequestError, TooLargeError } from '@caribou/contracts';

/** Maximum nesting of a body: each level costs a stack frame wherever the JSON is written. */
const MAX_DEPTH = 100;
/** Maximum number of object members and array items in a body: parsing and checking cost time for each. */
const MAX_VALUES = 50_000;
const { maxBytes: MAX_FIELD_BYTES, maxKeys: MAX_FIELD_KEYS } = FREE_JSON_LIMITS;

/** Names of the fields with free JSON, anywhere in a body except in the content of a message. */
const boundedFields = new Set(['metadata', 'context', 'configurable', 'additional_kwargs', 'response_metadata']);
const MAX_NAME_BYTES = 64;
const NAMED_LEVELS = 8;

const enum Byte {
  Tab = 9,
  Newline = 10,
  Return = 13,
  Space = 32,
  Quote = 34,
  Comma = 44,
  Colon = 58,
  OpenBracket = 91,
  Backslash = 92,
  CloseBracket = 93,
  OpenBrace = 123,
  CloseBrace = 125,
}

interface Field {
  readonly path: string;
  /** Depth of the object that has the field. */
  readonly depth: number;
  readonly from: number;
  keys: number;
}

/**
 * Checks the bytes of a JSON body as they arrive, before it is parsed: depth, number of values, and bytes and keys of
 * each field of free JSON. Takes linear time and constant memory. It does not check the grammar: the parser refuses
 * malformed JSON, and stops at the first fault.
 */
export class JsonGauge {
  private depth = 0;
  private values = 0;
  private offset = 0;
  private inString = false;
  private escaped = false;
  private awaitsName = false;
  /** Bytes of the member name that is being read; undefined when none is, or when its name does not matter. */
  private name: number[] | undefined;
  /** For each level: whether it is an object, and the name of its current member. */
  private readonly isObject: boolean[] = [];
  private readonly names: string[] = [];
  private field: Field | undefined;

  /**
   * @throws {InvalidRequestError} when there are too many levels, values or keys
   * @throws {TooLargeError} when a field has too many bytes
   */
  push(chunk: Uint8Array): void {
    for (const byte of chunk) {
      this.offset += 1;
      if (this.inString) this.readString(byte);
      else this.readToken(byte);
    }
    this.checkBytes();
  }

  private readString(byte: number): void {
    if (this.escaped) this.escaped = false;
    else if (byte === Byte.Backslash) this.escaped = true;
    else if (byte === Byte.Quote) {
      this.inString = false;
      if (this.name !== undefined) this.endName(this.name);
      return;
    }
    if (this.name !== undefined && this.name.length <= MAX_NAME_BYTES) this.name.push(byte);
  }

  private readToken(byte: number): void {
    switch (byte) {
      case Byte.Quote:
        this.inString = true;
        if (this.awaitsName) this.beginName();
        break;
      case Byte.OpenBrace:
      case Byte.OpenBracket:
        this.beginContainer(byte === Byte.OpenBrace);
        break;
      case Byte.CloseBrace:
      case Byte.CloseBracket:
        this.endContainer();
        break;
      case Byte.Comma:
        this.beginMember();
        break;
    }
  }

  private beginContainer(isObject: boolean): void {
    this.depth += 1;
    if (this.depth > MAX_DEPTH)
      throw new InvalidRequestError(`${this.currentPath()}: the body is nested deeper than ${MAX_DEPTH} levels`);
    this.isObject[this.depth] = isObject;
    this.names[this.depth] = '';
    this.awaitsName = isObject;
    this.count();
  }

  private endContainer(): void {
    this.depth -= 1;
    this.awaitsName = false;
    if (this.field !== undefined && this.depth < this.field.depth) this.endField();
  }

  private beginMember(): void {
    this.awaitsName = this.isObject[this.depth] === true;
    if (this.depth === this.field?.depth) this.endField();
    this.count();
  }

  private count(): void {
    this.values += 1;
    if (this.values > MAX_VALUES)
      throw new InvalidRequestError(`${this.currentPath()}: the body holds more than ${MAX_VALUES} values`);
  }

  private beginName(): void {
    this.awaitsName = false;
    this.name = this.depth <= NAMED_LEVELS && this.field === undefined ? [] : undefined;
    if (this.field === undefined) return;
    this.field.keys += 1;
    if (this.field.keys > MAX_FIELD_KEYS)
      throw new InvalidRequestError(`${this.field.path}: holds more than ${MAX_FIELD_KEYS} keys`);
    this.checkBytes();
  }

  private endName(bytes: readonly number[]): void {
    this.name = undefined;
    const name = nameOf(bytes);
    this.names[this.depth] = name;
    if (!boundedFields.has(name) || this.names.slice(1, this.depth).includes('content')) return;
    this.field = { path: this.currentPath(), depth: this.depth, from: this.offset, keys: 0 };
  }

  private endField(): void {
    this.checkBytes();
    this.field = undefined;
  }

  private checkBytes(): void {
    if (this.field !== undefined && this.offset - this.field.from > MAX_FIELD_BYTES)
      throw new TooLargeError(`${this.field.path}: is larger than ${MAX_FIELD_BYTES} bytes`, {
        details: { limitBytes: MAX_FIELD_BYTES },
      });
  }

  /** The path of member names to the current position. */
  private currentPath(): string {
    const path = this.names.slice(1, Math.min(this.depth, NAMED_LEVELS) + 1).filter((name) => name !== '');
    return path.length === 0 ? 'body' : path.join('.');
  }
}

/** A member's name with its escapes resolved; '' when it is longer than all names that matter. */
function nameOf(bytes: readonly number[]): string {
  if (bytes.length > MAX_NAME_BYTES) return '';
  const isAscii = bytes.every((byte) => byte < 0x80);
  const text = isAscii ? String.fromCharCode(...bytes) : Buffer.from(bytes).toString('utf8');
  if (!text.includes('\\')) return text;
  try {
    const name: unknown = JSON.parse(`"${text}"`);
    return typeof name === 'string' ? name : '';
  } catch (error) {
    if (error instanceof SyntaxError) return '';
    throw error;
  }
}
