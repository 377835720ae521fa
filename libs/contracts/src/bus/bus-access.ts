import { FleetInfo, FleetSandboxes } from '../rpc/scatter.js';
import { SandboxEnd } from '../rpc/sandbox-end.js';
import { SandboxPublish, SandboxPublishLeft } from '../rpc/sandbox-publish.js';
import { SandboxBlocked, SandboxAcquire, SandboxProbe, managerSubject } from '../rpc/sandbox.js';
import type { ServiceName } from '../common/services.js';
import {
  CANCEL_ALL,
  COMMAND_OUTPUTS,
  configSubject,
  type DeadLetterKind,
  deadLetterSubject,
  runEventsSubject,
  streams,
  threadRunSubject,
  runnerOffersSubject,
  TURN_OFFERS,
  TURN_TAKERS,
  type WakeRole,
  wakeSubject,
} from './subjects.js';

/**
 * The permissions of each service on the bus: the only table from which the NATS servers of `npm start` and the compose
 * file are configured. A service that may change a stream or create a consumer can have the server send any message to
 * any subject, so one service creates them all and the others wait for it.
 */
export interface BusAccess {
  readonly publish: readonly string[];
  /** Subjects; one followed by a space and a name may only be subscribed to as a member of that queue group. */
  readonly subscribe: readonly string[];
  /** Whether this service creates and changes streams and their consumers. */
  readonly makesStreams: boolean;
  /** Prefix of the service's reply subjects, to which no other service may subscribe. */
  readonly inboxPrefix: string;
}

type StreamKey = keyof typeof streams;

/** Wildcard for the token of an id. */
const ANY = '*';
/** The slowest reply of a manager takes an hour and half a minute: `SandboxExec`. */
export const REPLY_WITHIN_MS = 2 * 3_600_000;
/** Queue group in which managers share the requests that are not for one of them. */
export const MANAGERS_QUEUE = 'sandbox-manager';

const inboxPrefix = (service: ServiceName): string => `_INBOX.${service}`;
const wakesOf = (role: WakeRole): string => wakeSubject(role, ANY, ANY);
const lettersOf = (...kinds: readonly DeadLetterKind[]): string[] => kinds.map((kind) => deadLetterSubject(kind, ANY));

/** Subjects for reading the state of a stream and its consumer. */
const inspect = (key: StreamKey): string[] => [
  `$JS.API.STREAM.INFO.${streams[key].name}`,
  `$JS.API.CONSUMER.INFO.${streams[key].name}.${streams[key].consumer}`,
];

/**
 * Subjects for consuming and acknowledging a role's messages, and for deleting messages that the consumer cannot
 * deliver any more.
 */
function consume(role: WakeRole): string[] {
  const { name, consumer } = streams[role];
  return [
    ...inspect(role),
    `$JS.API.CONSUMER.MSG.NEXT.${name}.${consumer}`,
    `$JS.ACK.${name}.${consumer}.>`,
    // The form with domain and account.
    `$JS.ACK.*.*.${name}.${consumer}.>`,
    `$JS.API.STREAM.MSG.DELETE.${name}`,
    `$JS.API.STREAM.MSG.GET.${name}`,
    `$JS.API.DIRECT.GET.${name}.>`,
  ];
}

function provision(key: StreamKey): string[] {
  const { name, consumer } = streams[key];
  return [
    ...['CREATE', 'UPDATE', 'INFO'].map((act) => `$JS.API.STREAM.${act}.${name}`),
    // The first form is for nats-server before 2.9.3, the others for later ones.
    `$JS.API.CONSUMER.DURABLE.CREATE.${name}.${consumer}`,
    `$JS.API.CONSUMER.CREATE.${name}.${consumer}`,
    `$JS.API.CONSUMER.CREATE.${name}.${consumer}.>`,
    `$JS.API.CONSUMER.INFO.${name}.${consumer}`,
    `$JS.API.STREAM.PURGE.${name}`,
    `$JS.API.STREAM.MSG.DELETE.${name}`,
  ];
}

const subjects: Readonly<Record<ServiceName, Pick<BusAccess, 'publish' | 'subscribe'>>> = {
  gateway: {
    publish: [
      wakesOf('turns'),
      TURN_OFFERS,
      runnerOffersSubject(ANY),
      CANCEL_ALL,
      configSubject(ANY),
      // Final events of queued runs.
      runEventsSubject(ANY),
      threadRunSubject(ANY, ANY),
      SandboxProbe.name,
      // Reads and changes of files whose newest state only their manager has.
      managerSubject(ANY, SandboxPublish),
      managerSubject(ANY, SandboxPublishLeft),
      // What administrators ask and do.
      FleetInfo.name,
      FleetSandboxes.name,
      managerSubject(ANY, SandboxEnd),
      ...inspect('turns'),
    ],
    subscribe: [runEventsSubject(ANY), threadRunSubject(ANY, ANY)],
  },
  'agent-runner': {
    publish: [
      ...(['turns', 'subagents', 'memory'] as const).map(wakesOf),
      ...lettersOf('run', 'malformed'),
      runEventsSubject(ANY),
      CANCEL_ALL,
      SandboxAcquire.name,
      SandboxBlocked.name,
      // Those of one manager, and those of a machine (machineSubject).
      managerSubject(ANY, { name: ANY }),
      ...consume('turns'),
      ...(['turns', 'subagents', 'memory', 'deadLetters'] as const).flatMap(provision),
    ],
    // The run events include those of tasks.
    subscribe: [
      ...[runEventsSubject(ANY), CANCEL_ALL, COMMAND_OUTPUTS, configSubject(ANY)],
      `${TURN_OFFERS} ${TURN_TAKERS}`,
      runnerOffersSubject(ANY),
    ],
  },
  'subagent-pool': {
    publish: [
      wakesOf('subagents'),
      ...lettersOf('run', 'malformed'),
      runEventsSubject(ANY),
      SandboxAcquire.name,
      SandboxBlocked.name,
      // Those of one manager, and those of a machine (machineSubject).
      managerSubject(ANY, { name: ANY }),
      ...consume('subagents'),
      ...inspect('deadLetters'),
    ],
    subscribe: [CANCEL_ALL, COMMAND_OUTPUTS, configSubject(ANY)],
  },
  'memory-worker': {
    publish: [...lettersOf('memory', 'malformed'), ...consume('memory'), ...inspect('deadLetters')],
    subscribe: [],
  },
  'sandbox-manager': {
    publish: [COMMAND_OUTPUTS],
    subscribe: [
      ...[SandboxAcquire.name, SandboxProbe.name, SandboxBlocked.name, managerSubject(ANY, { name: ANY })].map(
        (subject) => `${subject} ${MANAGERS_QUEUE}`,
      ),
      FleetSandboxes.name,
    ],
  },
};

/** The permissions of a service on the bus. */
export function busAccess(service: ServiceName): BusAccess {
  const { publish, subscribe } = subjects[service];
  return {
    publish,
    // Every process answers the question of a gateway about itself.
    subscribe: [...subscribe, FleetInfo.name, `${inboxPrefix(service)}.>`],
    makesStreams: service === 'agent-runner',
    inboxPrefix: inboxPrefix(service),
  };
}
