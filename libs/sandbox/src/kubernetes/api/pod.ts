import { z } from 'zod';

const State = z.object({
  waiting: z.object({ reason: z.string().optional(), message: z.string().optional() }).optional(),
  running: z.object({}).optional(),
  terminated: z
    .object({ exitCode: z.number(), reason: z.string().optional(), message: z.string().optional() })
    .optional(),
});

/** What the driver reads of a pod (v1 Pod). */
export const Pod = z.object({
  metadata: z.object({
    name: z.string(),
    uid: z.string(),
    resourceVersion: z.string(),
    creationTimestamp: z.string().optional(),
    deletionTimestamp: z.string().optional(),
    labels: z.record(z.string(), z.string()).default({}),
    annotations: z.record(z.string(), z.string()).default({}),
  }),
  spec: z.object({ nodeName: z.string().optional(), hostUsers: z.boolean().optional() }).default({}),
  status: z
    .object({
      phase: z.string().optional(),
      reason: z.string().optional(),
      message: z.string().optional(),
      podIP: z.string().optional(),
      conditions: z
        .array(
          z.object({
            type: z.string(),
            status: z.string(),
            reason: z.string().optional(),
            message: z.string().optional(),
          }),
        )
        .default([]),
      containerStatuses: z.array(z.object({ name: z.string(), state: State.default({}) })).default([]),
    })
    .default({ conditions: [], containerStatuses: [] }),
});
export type Pod = z.output<typeof Pod>;

export const PodList = z.object({
  metadata: z.object({ resourceVersion: z.string(), continue: z.string().optional() }),
  items: z.array(Pod),
});

/** One line of a watch; `object` is a Status when the type is ERROR. */
export const WatchEvent = z.discriminatedUnion('type', [
  z.object({ type: z.enum(['ADDED', 'MODIFIED', 'DELETED']), object: Pod }),
  z.object({ type: z.literal('BOOKMARK'), object: z.object({ metadata: z.object({ resourceVersion: z.string() }) }) }),
  z.object({
    type: z.literal('ERROR'),
    object: z.object({ code: z.number().optional(), message: z.string().optional() }),
  }),
]);
export type WatchEvent = z.output<typeof WatchEvent>;

/** What a scheduler or a node says about a pod (v1 Event). */
export const EventList = z.object({
  items: z.array(
    z.object({ reason: z.string().optional(), message: z.string().optional(), type: z.string().optional() }),
  ),
});

export const AccessReview = z.object({
  status: z.object({ allowed: z.boolean(), reason: z.string().optional() }),
});

/** A pod as the API takes it (v1 Pod). */
export type PodManifest = Readonly<Record<string, unknown>> & {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations: Readonly<Record<string, string>>;
  };
};
