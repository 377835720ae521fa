import type { QuotaUse } from '@caribou/contracts';

/** Where an item is: a path of labels, and a key in it. Neither contains control characters. */
export interface ItemKey {
  readonly namespace: readonly string[];
  readonly key: string;
}

/** An item of a user's store. Times are the store's clock, ISO 8601. */
export interface StoredItem extends ItemKey {
  readonly value: Readonly<Record<string, unknown>>;
  /** Paths of the value whose text a search ranks by; null: all text; empty: none. */
  readonly index: readonly string[] | null;
  readonly created_at: string;
  readonly updated_at: string;
}

export type NewItem = Pick<StoredItem, 'namespace' | 'key' | 'value' | 'index'> & {
  /** Minutes after the last write or refreshing read at which it is removed; absent: never. */
  readonly ttlMinutes?: number;
  /** By which a search finds it, as text; absent: it has none. */
  readonly vector?: string;
};

export type PutOutcome = { readonly outcome: 'written' } | { readonly outcome: 'full'; readonly use: QuotaUse };

/**
 * The items that users and their clients store beside threads. Every write is one atomic step; items and bytes of a user are
 * bounded. An item is invisible from its expiry on, and removed by a later write of the user. All methods throw
 * UnavailableError when the store does not answer in time.
 */
export interface ItemStore {
  /** Writes or replaces an item; the time of its creation stays. */
  put(userId: string, item: NewItem): Promise<PutOutcome>;
  /** The vectors of these items, in their order; null for items without one. */
  vectors(userId: string, items: readonly ItemKey[]): Promise<readonly (string | null)[]>;
  /** Whether it existed. */
  remove(userId: string, item: ItemKey): Promise<boolean>;
  /** The items with these keys, without those that do not exist. */
  read(userId: string, items: readonly ItemKey[]): Promise<readonly StoredItem[]>;
  /** Begins the time of each again at whose end it expires. */
  refresh(userId: string, items: readonly ItemKey[]): Promise<void>;
  /** The keys of all items, the last written first; some may have expired. */
  keys(userId: string): Promise<readonly ItemKey[]>;
  /** Those of the keys whose items have not expired. */
  live(userId: string, items: readonly ItemKey[]): Promise<readonly ItemKey[]>;
}

export interface ItemLimits {
  readonly maxItems: number;
  readonly maxBytes: number;
}
