import type { KeySet, Skeleton } from './compare.js';

/**
 * The single differences between Caribou's stream and the peer's, each a short line without ids and numbers: `+` is only in
 * Caribou's, `-` only in the peer's, `~` in both but different. The content of something added or missing is not named
 * again. Messages are named by their type (`ai message`, `ai delta`), at any path.
 */
export function singleDifferences(peer: Skeleton, ours: Skeleton): readonly string[] {
  return [
    ...new Set([
      ...frameDifferences(peer.order, ours.order),
      ...keyDifferences(peer, ours),
      ...idDifferences(peer, ours),
      ...(peer.frameIds === ours.frameIds ? [] : [`~ frame ids: ${ours.frameIds}`]),
      ...streamedDifferences(peer, ours),
    ]),
  ].sort();
}

/** Frames added, missing, or at another position. */
function frameDifferences(peer: readonly string[], ours: readonly string[]): string[] {
  const common = longestCommon(peer, ours);
  const missing = without(peer, common);
  const added = without(ours, common);
  const moved = new Set(added.filter((label) => missing.includes(label)));
  return [
    ...missing.filter((label) => !moved.has(label)).map((label) => `- frame ${label}`),
    ...added.filter((label) => !moved.has(label)).map((label) => `+ frame ${label}`),
    ...[...moved].map((label) => `~ frame ${label} at another place`),
  ];
}

/** A longest common subsequence. */
function longestCommon(left: readonly string[], right: readonly string[]): readonly string[] {
  const lengths = left.map(() => right.map(() => 0));
  const at = (row: number, column: number): number => lengths[row]?.[column] ?? 0;
  for (let row = left.length - 1; row >= 0; row -= 1) {
    for (let column = right.length - 1; column >= 0; column -= 1) {
      const length =
        left[row] === right[column] ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1));
      lengths[row]?.splice(column, 1, length);
    }
  }
  const common: string[] = [];
  for (let row = 0, column = 0; row < left.length && column < right.length; ) {
    const label = left[row];
    if (label !== undefined && label === right[column]) {
      common.push(label);
      row += 1;
      column += 1;
    } else if (at(row + 1, column) >= at(row, column + 1)) row += 1;
    else column += 1;
  }
  return common;
}

/** The list without the members of one of its subsequences. */
function without(list: readonly string[], subsequence: readonly string[]): string[] {
  let next = 0;
  return list.filter((label) => {
    if (label !== subsequence[next]) return true;
    next += 1;
    return false;
  });
}

const NO_KEYS: KeySet = { always: [], sometimes: [] };

function keyDifferences(peer: Skeleton, ours: Skeleton): string[] {
  const labels = new Set(peer.order.filter((label) => ours.order.includes(label)));
  const places = [...new Set([...Object.keys(peer.keys), ...Object.keys(ours.keys)])];
  const shared = places.filter((place) => labels.has(labelOf(place, labels)));
  return shared.flatMap((place) => {
    const [theirs, own] = [peer.keys[place], ours.keys[place]];
    if (theirs !== undefined && own !== undefined) return keySetDifferences(place, theirs, own);
    const parent = parentOf(place);
    const known = (skeleton: Skeleton): boolean => hasKey(skeleton.keys[parent.place] ?? NO_KEYS, parent.key);
    const namedAlready = !labels.has(place) && (!known(peer) || !known(ours));
    return namedAlready ? [] : [`${own === undefined ? '-' : '+'} ${named(place)}`];
  });
}

/** The frame label at the beginning of a path; labels may contain dots. */
const labelOf = (place: string, labels: ReadonlySet<string>): string =>
  [...labels].find((label) => place === label || place.startsWith(`${label}.`) || place.startsWith(`${label}[`)) ?? '';

const hasKey = ({ always, sometimes }: KeySet, key: string): boolean => always.includes(key) || sometimes.includes(key);

/** The parent object of a path and its key there, without list brackets and message types. */
function parentOf(place: string): { readonly place: string; readonly key: string } {
  const cut = place.lastIndexOf('.');
  return { place: place.slice(0, cut), key: place.slice(cut + 1).replace(/(\[\])?(\(\w+\))?$/, '') };
}

/** The number of deltas of a message may differ, so the number of deltas with a key may, too. */
const DELTA = /^messages\(ai\)|^messages\/partial|^events\(on_chat_model_stream /;

function keySetDifferences(place: string, peer: KeySet, ours: KeySet): string[] {
  const all = [...new Set([...peer.always, ...peer.sometimes, ...ours.always, ...ours.sometimes])];
  return all.flatMap((key) => {
    if (!hasKey(peer, key)) return [`+ ${named(`${place}.${key}`)}`];
    if (!hasKey(ours, key)) return [`- ${named(`${place}.${key}`)}`];
    if (DELTA.test(place) || peer.always.includes(key) === ours.always.includes(key)) return [];
    return [`~ ${named(`${place}.${key}`)}: ${ours.always.includes(key) ? 'always' : 'sometimes'} there`];
  });
}

/** Names for paths with the same kind of value. */
const things: readonly (readonly [RegExp, string])[] = [
  [/^messages\(ai\)\.message|^events\(on_chat_model_stream \w+\)\.data\.chunk\(ai\)/, 'ai delta'],
  [/^messages\/partial\(ai\)\[\]\(ai\)/, 'ai message so far'],
  [/^messages\(tool\)\.message/, 'tool message'],
  [/^.*(?:\[\]|\.output)\((ai|human|tool)\)/, '$1 message'],
  [/^messages\/metadata\.<message id>\.metadata|^messages\(ai\)\.metadata/, 'metadata of an ai delta'],
  [/^messages\(tool\)\.metadata/, 'metadata of a tool message'],
  [/^events\(on_tool_.*?\)\.metadata/, 'metadata of a tool event'],
  [/^events\(.*?\)\.metadata/, 'metadata of an event'],
  [/^(?:tasks\(start .*?\)|debug\(task .*?\)\.payload)\.metadata/, 'metadata of a task'],
  [/^(?:checkpoints\(\w+\)|debug\(checkpoint\)\.payload)\.metadata/, 'metadata of a checkpoint'],
  [/^(?:checkpoints\(\w+\)\.|debug\(checkpoint\)\.payload\.)?values/, 'state'],
  [/^(?:tasks\(start .*?\)|debug\(task .*?\)\.payload)\.input/, 'input of a task'],
  [/^(?:tasks\(end (\w+)\)|debug\(task_result (\w+)\)\.payload)\.(result|error)/, '$3 of the $1$2 task'],
  [/^updates\((\w+)\)\.\w+/, 'update of $1'],
  [/^runs\[\]/, 'run'],
  [/^(?:history\[\]|state)\.metadata/, 'metadata of a state'],
  [/^(?:history\[\]|state|thread)\.values/, 'state'],
  [/^history\[\]/, 'state in the history'],
];

/** Names a path by its value. */
function named(whole: string): string {
  const place = whole.replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/, '<id>');
  const [pattern, name] = things.find(([candidate]) => candidate.test(place)) ?? [];
  return pattern === undefined || name === undefined ? place : place.replace(pattern, name);
}

/** Ids that connect other paths than the peer's. */
function idDifferences(peer: Skeleton, ours: Skeleton): string[] {
  const known = new Set(peer.idPlaces.filter((place) => ours.idPlaces.includes(place)));
  const pairs = (skeleton: Skeleton): Set<string> =>
    new Set(
      skeleton.ids.flatMap((group) => {
        const places = group.filter((place) => known.has(place));
        return places.flatMap((left, index) => places.slice(index + 1).map((right) => `${left} = ${right}`));
      }),
    );
  const [theirs, own] = [pairs(peer), pairs(ours)];
  return [
    ...[...theirs].filter((pair) => !own.has(pair)).map((pair) => `- id ${pair}`),
    ...[...own].filter((pair) => !theirs.has(pair)).map((pair) => `+ id ${pair}`),
  ];
}

function streamedDifferences(peer: Skeleton, ours: Skeleton): string[] {
  const [theirs, own] = [peer.streamed, ours.streamed].map((streamed) => JSON.stringify(streamed));
  return theirs === own ? [] : [`~ streamed: ${own ?? ''}`];
}
