import { isDeepStrictEqual } from 'node:util';
import {
  BugError,
  type HumanMessage,
  isFromClient,
  type Message,
  newId,
  type PromotedTools,
  REMOVE_ALL,
  type RemoveMessage,
  type StateUpdate,
  type SystemMessage,
  type ThreadState,
} from '@caribou/contracts';
import { withFittingExtras } from './fitting-extras.js';

export const EMPTY_STATE: ThreadState = { messages: [] };

/**
 * The one reducer of thread state: pure, never mutates, preserves the identity of every message it does not touch (the
 * store finds new log entries by identity).
 *
 * Merge rules: `messages` append; the same id replaces in place, with the provider's extras that fit the new content; `remove` deletes one (an unknown id is ignored),
 * `__remove_all__` drops everything before it; `artifacts` union in first-seen order; `viewed_images` are merged by
 * path, and an empty object clears them; `promoted` is merged while the catalogue is the same; `guards` and
 * `extensions` are merged by middleware, null deletes one; a `goal` of null is removed; every other channel takes the last value.
 */
export function applyUpdate(state: ThreadState, update: StateUpdate): ThreadState {
  const { messages, artifacts, viewed_images: images, promoted, guards, extensions, goal, ...channels } = update;
  const next: ThreadState = { ...withGoal(state, goal), ...withoutUndefined(channels) };
  if (artifacts !== undefined) next.artifacts = [...new Set([...(state.artifacts ?? []), ...artifacts])];
  if (images !== undefined) next.viewed_images = clears(images) ? {} : { ...state.viewed_images, ...images };
  if (promoted !== undefined) next.promoted = joinPromoted(state.promoted, promoted);
  if (guards !== undefined) next.guards = withoutNulls({ ...state.guards, ...guards });
  if (extensions !== undefined) next.extensions = withoutNulls({ ...state.extensions, ...extensions });
  if (messages !== undefined && messages.length > 0) next.messages = mergeMessages(state.messages, messages);
  return next;
}

/** A state that continues from an older checkpoint: the goal is the thread's and remains as it is at the head. */
export const withGoalOf = ({ goal }: ThreadState, older: ThreadState): ThreadState => withGoal(older, goal ?? null);

function withGoal(state: ThreadState, goal: StateUpdate['goal']): ThreadState {
  if (goal === undefined) return state;
  const { goal: _before, ...rest } = state;
  return goal === null ? rest : { ...rest, goal };
}

const withoutNulls = (fields: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));

function joinPromoted(before: PromotedTools | undefined, added: PromotedTools): PromotedTools {
  if (before?.catalog_hash !== added.catalog_hash) return added;
  return { ...added, names: [...new Set([...before.names, ...added.names])] };
}

const clears = (images: Images): boolean => Object.keys(images).length === 0;

/** Whether an update would change nothing. */
export const isEmptyUpdate = (update: StateUpdate): boolean =>
  Object.entries(update).every(
    ([key, value]) => value === undefined || (key === 'messages' && Array.isArray(value) && value.length === 0),
  );

/**
 * Joins two updates into one that has the effect of applying them in order.
 *
 * @throws {BugError} when the first clears `viewed_images` and the second adds some, or they promote tools of two
 *   catalogues: one update cannot express both.
 */
export function joinUpdates(first: StateUpdate, second: StateUpdate): StateUpdate {
  return withoutUndefined({
    ...first,
    ...withoutUndefined(second),
    promoted: bothOr(first.promoted, second.promoted, joinSameCatalogue),
    guards: bothOr(first.guards, second.guards, joinFields),
    extensions: bothOr(first.extensions, second.extensions, joinFields),
    viewed_images: bothOr(first.viewed_images, second.viewed_images, joinImages),
    messages: bothOr(first.messages, second.messages, (before, after) => [...before, ...after]),
    artifacts: bothOr(first.artifacts, second.artifacts, (before, after) => [...new Set([...before, ...after])]),
  });
}

const bothOr = <T>(first: T | undefined, second: T | undefined, join: (first: T, second: T) => T): T | undefined =>
  first === undefined || second === undefined ? (second ?? first) : join(first, second);

type Fields = Readonly<Record<string, unknown>>;

const joinFields = (first: Fields, second: Fields): Record<string, unknown> => ({ ...first, ...second });

function joinSameCatalogue(first: PromotedTools, second: PromotedTools): PromotedTools {
  if (first.catalog_hash !== second.catalog_hash) throw new BugError('tools of two catalogues are promoted at once');
  return joinPromoted(first, second);
}

type Images = NonNullable<StateUpdate['viewed_images']>;

function joinImages(first: Images, second: Images): Images {
  if (clears(second)) return second;
  if (clears(first)) throw new BugError('images are cleared and added at once');
  return { ...first, ...second };
}

/**
 * Restricts a client's update to what it may change: its messages replace only messages of clients. One with the id of
 * any other message, such as an answer or a tool's result, gets a new id; one that equals the stored message is
 * dropped, as clients may send back what they have read.
 */
export function clientUpdate(state: ThreadState, update: StateUpdate): StateUpdate {
  const { messages } = update;
  if (messages === undefined) return update;
  const others = new Map(
    state.messages.filter((message) => !isClients(message)).map((message) => [message.id, message]),
  );
  if (messages.every(({ id }) => !others.has(id))) return update;
  const ids = new Map<string, string>();
  const applied = messages.flatMap((message): (Message | RemoveMessage)[] => {
    const other = others.get(message.id);
    if (other === undefined || !mayBeClients(message)) return [message];
    if (other.type === message.type && isDeepStrictEqual(other.content, message.content)) return [];
    const id = ids.get(message.id) ?? newId();
    ids.set(message.id, id);
    return [{ ...message, id }];
  });
  return { ...update, messages: applied };
}

const mayBeClients = (message: Message | RemoveMessage): message is HumanMessage | SystemMessage =>
  message.type === 'human' || message.type === 'system';

const isClients = (message: Message): boolean => message.type === 'system' || isFromClient(message);

function mergeMessages(current: readonly Message[], changes: readonly (Message | RemoveMessage)[]): Message[] {
  if (changes.every((change) => change.type !== 'remove') && current.length > 0) {
    const known = new Set(current.map((message) => message.id));
    if (changes.every((change) => !known.has(change.id))) return [...current, ...appendable(changes)];
  }
  const byId = new Map(current.map((message) => [message.id, message]));
  for (const change of changes) {
    if (change.type !== 'remove') byId.set(change.id, withFittingExtras(byId.get(change.id), change));
    else if (change.id === REMOVE_ALL) byId.clear();
    else byId.delete(change.id);
  }
  return [...byId.values()];
}

/** Messages to append; of several with one id the last is used, at the position of the first. */
function appendable(changes: readonly (Message | RemoveMessage)[]): Message[] {
  const byId = new Map<string, Message>();
  for (const change of changes) if (change.type !== 'remove') byId.set(change.id, change);
  return [...byId.values()];
}

function withoutUndefined<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as T;
}

/** The given message id, or a new one when it is missing or empty. */
export const messageIdOrNew = (id: string | null | undefined): string =>
  id === undefined || id === null || id === '' ? newId() : id;
