import { z } from 'zod';
import { FreeJson, QueryFlag, route, Unsupported } from '../route.js';

const MAX_LABELS = 20;
const MAX_LABEL_CHARS = 200;
const MAX_KEY_CHARS = 500;
const MAX_PATHS = 20;
const MAX_PATH_CHARS = 200;
const MAX_QUERY_CHARS = 8_000;
/** The longest time to live, in minutes: ten years. */
const MAX_TTL_MINUTES = 5_256_000;
/** Largest value of one item as JSON. */
const MAX_VALUE_BYTES = 1_048_576;

const hasNoControl = (text: string): boolean => !/\p{Cc}/u.test(text);
const CONTROL = 'must not hold control characters';

const Label = z
  .string()
  .min(1, 'must not be empty')
  .max(MAX_LABEL_CHARS)
  .refine((label) => !label.includes('.'), 'must not hold periods')
  .refine(hasNoControl, CONTROL);

const Namespace = z.array(Label).min(1, 'must have a label').max(MAX_LABELS);
const NamespacePrefix = z.array(Label).max(MAX_LABELS);
const Key = z.string().min(1, 'must not be empty').max(MAX_KEY_CHARS).refine(hasNoControl, CONTROL);

/** In a query the labels are joined by periods. */
const NamespaceText = z
  .preprocess((value) => (typeof value === 'string' ? value.split('.') : value), Namespace)
  .describe('The labels, joined by periods');

const Value = FreeJson.refine(
  (value) => new TextEncoder().encode(JSON.stringify(value)).length <= MAX_VALUE_BYTES,
  `must have at most ${MAX_VALUE_BYTES} bytes as JSON`,
);

const ItemReply = z.object({
  namespace: z.array(z.string()),
  key: z.string(),
  value: FreeJson,
  created_at: z.string(),
  updated_at: z.string(),
});
export type ItemReply = z.infer<typeof ItemReply>;

const group = 'Store';

const put = route({
  name: 'putItem',
  group,
  method: 'PUT',
  path: '/store/items',
  summary: 'Write or replace an item of the caller.',
  body: z
    .object({
      namespace: Namespace,
      key: Key,
      value: Value,
      index: z
        .union([z.literal(false), z.array(z.string().min(1).max(MAX_PATH_CHARS)).max(MAX_PATHS)])
        .nullish()
        .describe('Paths whose text a search ranks by; false: none; default all text'),
      ttl: z
        .number()
        .positive()
        .max(MAX_TTL_MINUTES)
        .nullish()
        .describe('Minutes after the last write or refreshing read at which it is removed; default never'),
    })
    .catchall(Unsupported),
  status: 204,
  reply: 'empty',
  refusals: [429],
});

const get = route({
  name: 'getItem',
  group,
  method: 'GET',
  path: '/store/items',
  summary: 'One item; null when there is none.',
  query: z.object({
    namespace: NamespaceText,
    key: Key,
    refresh_ttl: QueryFlag.optional().describe('Whether its time to live begins again; default true'),
  }),
  reply: ItemReply.nullable(),
});

const remove = route({
  name: 'deleteItem',
  group,
  method: 'DELETE',
  path: '/store/items',
  summary: 'Delete an item, if it exists.',
  body: z.object({ namespace: Namespace, key: Key }).catchall(Unsupported),
  status: 204,
  reply: 'empty',
});

const page = (limit: number) => ({
  limit: z.number().int().min(1).max(1_000).default(limit),
  offset: z.number().int().min(0).max(1_000_000).default(0),
});

const search = route({
  name: 'searchItems',
  group,
  method: 'POST',
  path: '/store/items/search',
  summary: 'Items below a namespace: the last written first, or with a query the best first.',
  body: z
    .object({
      namespace_prefix: NamespacePrefix.nullish(),
      filter: FreeJson.nullish().describe('Fields of the value: equal, or {$eq, $ne, $gt, $gte, $lt, $lte}'),
      query: z.string().max(MAX_QUERY_CHARS).nullish(),
      refresh_ttl: z.boolean().nullish(),
      ...page(10),
    })
    .catchall(Unsupported),
  reply: z.object({ items: z.array(ItemReply.extend({ score: z.number().optional() })) }),
});

const Pattern = z.array(z.string().min(1).max(MAX_LABEL_CHARS)).max(MAX_LABELS).describe('Labels; * is any');

const namespaces = route({
  name: 'listNamespaces',
  group,
  method: 'POST',
  path: '/store/namespaces',
  summary: 'Namespaces of the items of the caller, sorted.',
  body: z.preprocess(
    (value) => value ?? {},
    z
      .object({
        prefix: Pattern.nullish(),
        suffix: Pattern.nullish(),
        max_depth: z.number().int().min(1).max(MAX_LABELS).nullish(),
        ...page(100),
      })
      .catchall(Unsupported),
  ),
  reply: z.object({ namespaces: z.array(z.array(z.string())) }),
});

export const itemRoutes = { put, get, remove, search, namespaces };
