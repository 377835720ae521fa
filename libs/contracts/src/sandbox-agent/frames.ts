/**
 * Bodies of requests to a sandbox agent and of its replies are sequences of frames: one byte for the type, four bytes for the length of
 * the payload (big endian), the payload. Payloads of control frames are JSON in UTF-8, the others are bytes.
 */
export const FRAME_TYPES = {
  /** Request: what is asked. The first frame. JSON. */
  head: 0x01,
  /** Change of files: an entry, without the bytes of a file. JSON. */
  entry: 0x10,
  /** Bytes of the file whose entry came last. */
  data: 0x11,
  /** That many bytes of value 0 of the file whose entry came last. JSON. */
  zeros: 0x12,
  /** End of a file, with its checksum. JSON. */
  fileEnd: 0x13,
  /** Paths that are removed. JSON. */
  remove: 0x14,
  /** End of a sequence of changes: what comes next is of another kind. JSON. */
  changesEnd: 0x1f,
  /** Reply: the command is about to be started. Empty. */
  started: 0x20,
  /** Reply: standard output of a command, while it runs. */
  stdout: 0x21,
  stderr: 0x22,
  /** Reply: nothing has happened for a while. Empty. */
  alive: 0x23,
  /** Reply: the last frame of one that succeeded. JSON. */
  result: 0x2e,
  /** Reply: the last frame of one that failed after its head was sent. JSON. */
  error: 0x2f,
} as const;

export type FrameType = keyof typeof FRAME_TYPES;

export interface Frame {
  readonly type: FrameType;
  readonly payload: Uint8Array;
}

export const FRAME_HEADER_BYTES = 5;
/** Longest payload of a frame. */
export const MAX_FRAME_BYTES = 256 * 1024;

const names: ReadonlyMap<number, FrameType> = new Map(
  (Object.keys(FRAME_TYPES) as FrameType[]).map((name) => [FRAME_TYPES[name], name]),
);

/** A body that is no sequence of frames. */
export class FrameError extends Error {}

/** Five bytes that announce a payload. @throws {FrameError} for a payload that is too long */
export function frameHeader(type: FrameType, length: number): Uint8Array {
  if (length > MAX_FRAME_BYTES) throw new FrameError(`a frame may have ${MAX_FRAME_BYTES} bytes, and not ${length}`);
  const header = new Uint8Array(FRAME_HEADER_BYTES);
  const view = new DataView(header.buffer);
  view.setUint8(0, FRAME_TYPES[type]);
  view.setUint32(1, length);
  return header;
}

/** A whole frame. @throws {FrameError} for a payload that is too long */
export function encodeFrame(type: FrameType, payload: Uint8Array = new Uint8Array()): Uint8Array {
  const header = frameHeader(type, payload.byteLength);
  const frame = new Uint8Array(header.byteLength + payload.byteLength);
  frame.set(header);
  frame.set(payload, header.byteLength);
  return frame;
}

/** A frame whose payload is JSON. @throws {FrameError} for a value that is too long */
export const encodeJsonFrame = (type: FrameType, value: unknown): Uint8Array =>
  encodeFrame(type, new TextEncoder().encode(JSON.stringify(value)));

/** What the payload of a control frame says. @throws {FrameError} when it is no JSON */
export function jsonOf({ type, payload }: Frame): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(payload));
  } catch (error) {
    throw new FrameError(`the frame "${type}" is not JSON`, { cause: error });
  }
}

/**
 * The frames of a body. Payloads are only valid until the next frame is asked for. Memory is bounded by the longest frame and the longest
 * chunk of the body.
 *
 * @throws {FrameError} for an unknown type, a payload that is too long, and a body that ends within a frame
 */
export async function* readFrames(body: AsyncIterable<Uint8Array>): AsyncGenerator<Frame, void, undefined> {
  let rest: Uint8Array = new Uint8Array();
  for await (const chunk of body) {
    let bytes = rest.byteLength === 0 ? chunk : joined(rest, chunk);
    for (let frame = firstFrame(bytes); frame !== undefined; frame = firstFrame(bytes)) {
      yield frame;
      bytes = bytes.subarray(FRAME_HEADER_BYTES + frame.payload.byteLength);
    }
    rest = bytes;
  }
  if (rest.byteLength > 0) throw new FrameError('the body ends within a frame');
}

function firstFrame(bytes: Uint8Array): Frame | undefined {
  if (bytes.byteLength < FRAME_HEADER_BYTES) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const type = names.get(view.getUint8(0));
  if (type === undefined) throw new FrameError(`there is no frame of type ${view.getUint8(0)}`);
  const length = view.getUint32(1);
  if (length > MAX_FRAME_BYTES) throw new FrameError(`a frame may have ${MAX_FRAME_BYTES} bytes, and not ${length}`);
  if (bytes.byteLength < FRAME_HEADER_BYTES + length) return undefined;
  return { type, payload: bytes.subarray(FRAME_HEADER_BYTES, FRAME_HEADER_BYTES + length) };
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(first.byteLength + second.byteLength);
  bytes.set(first);
  bytes.set(second, first.byteLength);
  return bytes;
}
