import { Injectable } from '@nestjs/common';
import {
  type ItemReply,
  type itemRoutes,
  omitUndefined,
  QuotaError,
  type QuotaUse,
  type RouteInput,
} from '@caribou/contracts';
import type { ItemKey, ItemStore, StoredItem } from '@caribou/state';
import { Dependency } from '../dependency.js';
import { jsonChars } from '../http/sliced-json.js';
import { valueFilter } from './item-filter.js';
import { isBelow, listNamespaces } from './item-namespaces.js';
import { textsOf } from './item-text.js';
import { ItemVectors } from './item-vectors.js';
import { type Ranked, rankByWords } from './lexical-ranking.js';

type Body<Name extends 'put' | 'search' | 'namespaces'> = RouteInput<(typeof itemRoutes)[Name]>['body'];

/** Items read at once while a search looks for those that match. */
const PAGE = 200;
/** Items that a search with a query ranks: the last written ones below the namespace. */
const MAX_RANKED = 2_000;

export interface FoundItems {
  readonly items: readonly (ItemReply & { readonly score?: number })[];
  /** Size of the items that were read. */
  readonly readBytes: number;
}

interface Match {
  readonly item: StoredItem;
  readonly score?: number;
}

/** The items that a user's clients store beside threads. */
@Injectable()
export class ItemsService {
  constructor(
    @Dependency('items') private readonly store: ItemStore,
    private readonly vectors: ItemVectors,
  ) {}

  /**
   * @throws {QuotaError} over the user's items or bytes
   * @throws {ModelError} when the embedding model fails; nothing is written then
   */
  async put(userId: string, { namespace, key, value, index, ttl }: Body<'put'>): Promise<void> {
    const paths = index === false ? [] : (index ?? null);
    const expiring = typeof ttl === 'number' ? { ttlMinutes: Math.max(1, Math.round(ttl)) } : {};
    const vector = await this.vectors.encode(userId, textsOf({ value, index: paths }));
    const item = { namespace, key, value, index: paths, ...expiring, ...omitUndefined({ vector }) };
    const written = await this.store.put(userId, item);
    if (written.outcome === 'full') throw overQuota(written.use);
  }

  async get(userId: string, item: ItemKey, refresh: boolean): Promise<ItemReply | null> {
    const [found] = await this.store.read(userId, [item]);
    if (found === undefined) return null;
    if (refresh) await this.store.refresh(userId, [item]);
    return itemJson(found);
  }

  async remove(userId: string, item: ItemKey): Promise<void> {
    await this.store.remove(userId, item);
  }

  /** @throws {InvalidRequestError} for an unknown operator of the filter */
  async search(userId: string, body: Body<'search'>): Promise<FoundItems> {
    const { offset, limit, query, namespace_prefix: prefix, refresh_ttl: refresh } = body;
    const test = valueFilter(body.filter);
    const below = (await this.store.keys(userId)).filter(({ namespace }) => isBelow(namespace, prefix ?? []));
    const asks = typeof query === 'string' && query.trim() !== '';
    const matches = asks
      ? await this.rank(userId, below.slice(0, MAX_RANKED), { query, test })
      : await this.scan(userId, below, { wanted: offset + limit, test });
    const page = matches.found.slice(offset, offset + limit);
    if (refresh !== false)
      await this.store.refresh(
        userId,
        page.map(({ item }) => item),
      );
    const items = page.map(({ item, score }) => ({ ...itemJson(item), ...(score === undefined ? {} : { score }) }));
    return { items, readBytes: matches.readBytes };
  }

  async namespaces(userId: string, body: Body<'namespaces'>): Promise<readonly (readonly string[])[]> {
    const live = await this.store.live(userId, await this.store.keys(userId));
    const found = listNamespaces(
      live.map(({ namespace }) => namespace),
      body,
    );
    return found.slice(body.offset, body.offset + body.limit);
  }

  /** Reads items until enough match. */
  private async scan(
    userId: string,
    keys: readonly ItemKey[],
    { wanted, test }: { readonly wanted: number; readonly test: (value: StoredItem['value']) => boolean },
  ): Promise<Matches> {
    const found: Match[] = [];
    let readBytes = 0;
    for (let from = 0; from < keys.length && found.length < wanted; from += PAGE) {
      const items = await this.store.read(userId, keys.slice(from, from + PAGE));
      readBytes += jsonChars(items);
      found.push(...items.filter(({ value }) => test(value)).map((item) => ({ item })));
    }
    return { found, readBytes };
  }

  private async rank(
    userId: string,
    keys: readonly ItemKey[],
    { query, test }: { readonly query: string; readonly test: (value: StoredItem['value']) => boolean },
  ): Promise<Matches> {
    const { found, readBytes } = await this.scan(userId, keys, { wanted: keys.length, test });
    const items = found.map(({ item }) => item);
    if (!this.vectors.isConfigured) return { found: rankByWords(items, query, textsOf).map(toMatch), readBytes };
    const vectors = await this.store.vectors(userId, items);
    const ranked = await this.rankByMeaning(userId, query, { items, vectors });
    return {
      found: ranked.map(toMatch),
      readBytes: vectors.reduce((sum, text) => sum + (text?.length ?? 0), readBytes),
    };
  }

  private rankByMeaning(
    userId: string,
    query: string,
    { items, vectors }: { readonly items: readonly StoredItem[]; readonly vectors: readonly (string | null)[] },
  ): Promise<Ranked<StoredItem>[]> {
    const documents = items.map((document, at) => ({ document, vector: vectors[at] ?? null }));
    return this.vectors.rank(userId, query, documents);
  }
}

const toMatch = ({ document, score }: Ranked<StoredItem>): Match => ({ item: document, score });

interface Matches {
  readonly found: readonly Match[];
  readonly readBytes: number;
}

const itemJson = ({ namespace, key, value, created_at, updated_at }: StoredItem): ItemReply => ({
  namespace: [...namespace],
  key,
  value: { ...value },
  created_at,
  updated_at,
});

const overQuota = (use: QuotaUse): QuotaError =>
  new QuotaError(
    use.quota === 'store-items'
      ? `you have ${use.used} items, which is the limit (quotas.max_store_items_per_user): delete some`
      : `your items hold ${use.used} bytes, and with this one more than the limit of ${use.limit} (quotas.max_store_bytes_per_user): delete some`,
    use,
  );
