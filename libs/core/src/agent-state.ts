import {
  BugError,
  type Message,
  newId,
  REMOVE_ALL,
  type RemoveMessage,
  type StateUpdate,
  type ThreadState,
} from '@caribou/contracts';

export const EMPTY_STATE: ThreadState = { messages: [] };

/**
 * The one reducer of thread state: pure, never mutates, keeps the identity of every message it does not touch
 * (the store finds new log entries by identity).
 *
 * Merge rules: `messages` append; the same id replaces in place; `remove` takes one out (an unknown id is
 * ignored), `__remove_all__` drops everything before it; `artifacts` union in first-seen order;
 * `viewed_images` joined by path, none at all clears them; every other channel takes the last value.
 */
export function applyUpdate(state: ThreadState, update: StateUpdate): ThreadState {
  const { messages, artifacts, viewed_images: images, ...channels } = update;
  const next: ThreadState = { ...state, ...withoutUndefined(channels) };
  if (artifacts !== undefined) next.artifacts = [...new Set([...(state.artifacts ?? []), ...artifacts])];
  if (images !== undefined) next.viewed_images = clears(images) ? {} : { ...state.viewed_images, ...images };
  if (messages !== undefined && messages.length > 0) next.messages = mergeMessages(state.messages, messages);
  return next;
}

const clears = (images: Images): boolean => images !== undefined && Object.keys(images).length === 0;

/** Whether an update would change nothing. */
export const isEmptyUpdate = (update: StateUpdate): boolean =>
  Object.entries(update).every(
    ([key, value]) => value === undefined || (key === 'messages' && Array.isArray(value) && value.length === 0),
  );

/**
 * Joins two updates into one that has the effect of applying them in order.
 *
 * @throws {BugError} when the first clears `viewed_images` and the second adds some: one update cannot say both.
 */
export function joinUpdates(first: StateUpdate, second: StateUpdate): StateUpdate {
  const joined: StateUpdate = { ...first, ...withoutUndefined(second) };
  const images = joinImages(first.viewed_images, second.viewed_images);
  return {
    ...joined,
    ...(images === undefined ? {} : { viewed_images: images }),
    ...(first.messages || second.messages ? { messages: [...(first.messages ?? []), ...(second.messages ?? [])] } : {}),
    ...(first.artifacts || second.artifacts
      ? { artifacts: [...new Set([...(first.artifacts ?? []), ...(second.artifacts ?? [])])] }
      : {}),
  };
}

type Images = StateUpdate['viewed_images'];

function joinImages(first: Images, second: Images): Images {
  if (first === undefined || second === undefined || clears(second)) return second ?? first;
  if (clears(first)) throw new BugError('images are cleared and added at once');
  return { ...first, ...second };
}

function mergeMessages(current: readonly Message[], changes: readonly (Message | RemoveMessage)[]): Message[] {
  if (changes.every((change) => change.type !== 'remove') && current.length > 0) {
    const known = new Set(current.map((message) => message.id));
    if (changes.every((change) => !known.has(change.id))) return [...current, ...appendable(changes)];
  }
  const byId = new Map(current.map((message) => [message.id, message]));
  for (const change of changes) {
    if (change.type !== 'remove') byId.set(change.id, change);
    else if (change.id === REMOVE_ALL) byId.clear();
    else byId.delete(change.id);
  }
  return [...byId.values()];
}

/** Appended messages with the last of equal ids kept in the place of the first. */
function appendable(changes: readonly (Message | RemoveMessage)[]): Message[] {
  const byId = new Map<string, Message>();
  for (const change of changes) if (change.type !== 'remove') byId.set(change.id, change);
  return [...byId.values()];
}

function withoutUndefined<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as T;
}

/** A message id of ours where the writer gave none. */
export const messageIdOr = (id: string | null | undefined): string =>
  id === undefined || id === null || id === '' ? newId() : id;
