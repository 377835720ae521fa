import { foldKey, frameLabel } from './frame-label.js';
import { type Frame, isRecord, messageType } from './frames.js';
import { type StreamedMessage, streamedMessages } from './streamed-messages.js';

/** Keys of the objects at one path: in each of them, or only in some. */
export interface KeySet {
  always: string[];
  sometimes: string[];
}

/** The structure of a stream without ids, texts and the number of deltas. */
export interface Skeleton {
  /** Frame labels in order; consecutive deltas of one message count once. */
  order: string[];
  /** By path (`values.messages[](ai)`): the keys of the objects there. */
  keys: Record<string, KeySet>;
  /** For each id that is at two paths or more, its sorted paths, in order of first occurrence. */
  ids: string[][];
  /** All paths with an id, sorted. */
  idPlaces: string[];
  /** `unique` when every frame has an id of its own, `none` when no frame has one. */
  frameIds: 'unique' | 'none' | 'mixed';
  /** What the deltas of each streamed message add up to. */
  streamed: StreamedMessage[];
}

/** One path at which two skeletons differ; `key` is stable, so reasons can be listed by it. */
export interface Difference {
  key: string;
  peer: string;
  ours: string;
}

const ID_KEYS = new Set(['id', 'tool_call_id', 'toolCallId', 'run_id', 'thread_id', 'checkpoint_id']);
/** Their own keys are compared, what lies deeper is the vendor's. */
const CLOSED = new Set(['response_metadata', 'additional_kwargs', 'usage_metadata', 'configurable']);
/** Written by the model or by a tool: any keys. */
const FREE = new Set(['args', 'kwargs', 'lc_kwargs']);
const MAX_DEPTH = 6;

/** Reduces the frames of one stream to what two servers can be compared by. Pure; comment frames are left out. */
export function skeletonOf(frames: readonly Frame[]): Skeleton {
  const named = frames.filter((frame) => frame.comment === undefined);
  const places = new Places();
  for (const frame of named) places.visitFrame(frame);
  return {
    order: orderOf(named),
    keys: places.keySets(),
    ids: places.sharedIds(),
    idPlaces: places.idPlaces(),
    frameIds: frameIdsOf(named),
    streamed: streamedMessages(named),
  };
}

/**
 * Lists where two skeletons differ: the order as a whole, keys per path, and ids. Ids are compared only at
 * paths where both streams have an id, so an added or missing key is reported once, as a key.
 */
export function compareSkeletons(peer: Skeleton, ours: Skeleton): Difference[] {
  const found: Difference[] = [];
  const note = (key: string, left: unknown, right: unknown): void => {
    const [a, b] = [shown(left), shown(right)];
    if (a !== b) found.push({ key, peer: a, ours: b });
  };
  note('order', peer.order, ours.order);
  for (const place of [...new Set([...Object.keys(peer.keys), ...Object.keys(ours.keys)])].sort()) {
    note(`keys ${place}`, peer.keys[place], ours.keys[place]);
  }
  const known = common(peer.idPlaces, ours.idPlaces);
  note('ids', restrict(peer.ids, known), restrict(ours.ids, known));
  note('frameIds', peer.frameIds, ours.frameIds);
  note('streamed', peer.streamed, ours.streamed);
  return found;
}

function shown(part: unknown): string {
  return part === undefined ? 'absent' : JSON.stringify(part);
}

function orderOf(frames: readonly Frame[]): string[] {
  const order: string[] = [];
  let last: string | undefined;
  for (const frame of frames) {
    const label = frameLabel(frame);
    const fold = foldKey(frame);
    const folded = fold === undefined ? undefined : `${label} ${fold}`;
    if (folded === undefined || folded !== last) order.push(label);
    last = folded;
  }
  return order;
}

function frameIdsOf(frames: readonly Frame[]): Skeleton['frameIds'] {
  const ids = frames.flatMap((frame) => (frame.id === undefined ? [] : [frame.id]));
  if (ids.length === 0) return 'none';
  return ids.length === frames.length && new Set(ids).size === ids.length ? 'unique' : 'mixed';
}

function common(left: readonly string[], right: readonly string[]): Set<string> {
  const other = new Set(right);
  return new Set(left.filter((place) => other.has(place)));
}

function restrict(groups: readonly string[][], known: ReadonlySet<string>): string[][] {
  return groups
    .map((group) => group.filter((place) => known.has(place)))
    .filter((group) => group.length > 1)
    .sort((a, b) => (a.join(' ') < b.join(' ') ? -1 : 1));
}

/** Walks the frames and collects the keys and ids at each path. */
class Places {
  private readonly counts = new Map<string, { objects: number; keys: Map<string, number> }>();
  private readonly ids = new Map<string, Set<string>>();

  visitFrame(frame: Frame): void {
    const label = frameLabel(frame);
    if (frame.event === 'messages' && Array.isArray(frame.data)) {
      this.visit(frame.data[0], `${label}.message`, 1);
      this.visit(frame.data[1], `${label}.metadata`, 1);
    } else this.visit(frame.data, label, 0);
  }

  keySets(): Record<string, KeySet> {
    const places = [...this.counts].sort(([a], [b]) => (a < b ? -1 : 1));
    return Object.fromEntries(
      places.map(([place, { objects, keys }]) => {
        const sorted = [...keys].sort(([a], [b]) => (a < b ? -1 : 1));
        const always = sorted.filter(([, seen]) => seen === objects).map(([key]) => key);
        const sometimes = sorted.filter(([, seen]) => seen < objects).map(([key]) => key);
        return [place, { always, sometimes }];
      }),
    );
  }

  sharedIds(): string[][] {
    return [...this.ids.values()].filter((places) => places.size > 1).map((places) => [...places].sort());
  }

  idPlaces(): string[] {
    return [...new Set([...this.ids.values()].flatMap((places) => [...places]))].sort();
  }

  private visit(value: unknown, place: string, depth: number): void {
    if (Array.isArray(value)) {
      for (const item of value) this.visit(item, `${place}[]`, depth);
      return;
    }
    if (!isRecord(value) || depth > MAX_DEPTH) return;
    const type = messageType(value);
    this.visitObject(
      value,
      type === undefined || place.includes(`(${type}).message`) ? place : `${place}(${type})`,
      depth,
    );
  }

  private visitObject(object: Record<string, unknown>, place: string, depth: number): void {
    const count = this.counts.get(place) ?? { objects: 0, keys: new Map<string, number>() };
    this.counts.set(place, count);
    count.objects += 1;
    for (const [key, value] of Object.entries(object)) {
      const name = place.startsWith('messages/metadata') && depth === 0 ? '<message id>' : key;
      if (name !== key) this.see(key, `${place}.${name}`);
      count.keys.set(name, (count.keys.get(name) ?? 0) + 1);
      if (ID_KEYS.has(key) && typeof value === 'string') this.see(value, `${place}.${key}`);
      if (FREE.has(key)) continue;
      this.visit(value, `${place}.${name}`, CLOSED.has(key) ? MAX_DEPTH : depth + 1);
    }
  }

  private see(id: string, place: string): void {
    const places = this.ids.get(id) ?? new Set<string>();
    this.ids.set(id, places.add(place));
  }
}
