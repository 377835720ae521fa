import { SandboxBlocked, SandboxAcquire, SandboxProbe, managerSubject } from '../rpc/sandbox.js';
import type { ServiceName } from './services.js';
import {
  CANCEL_ALL,
  COMMAND_OUTPUTS,
  configSubject,
  type DeadLetterKind,
  deadLetterSubject,
  runEventsSubject,
  streams,
  type WakeRole,
  wakeSubject,
} from './subjects.js';

/**
 * What each service may do on the bus: the one table behind the permissions of the NATS servers that `npm start` and the
 * compose file run. Whoever may change a stream or make a consumer can have the server send any message to any subject,
 * so one service makes them all and the others wait for it.
 */
export interface BusAccess {
  readonly publish: readonly string[];
  /** Subjects; one followed by a space and a name may be heard only as a member of that queue group. */
  readonly subscribe: readonly string[];
  /** May send one reply to each request it was sent, on the subject that the request names. */
  readonly replies: boolean;
  /** Whether this service makes and changes streams and their consumers. */
  readonly makesStreams: boolean;
  /** Begins the subjects on which the service gets replies; nobody else may hear them. */
  readonly inboxPrefix: string;
}

type StreamKey = keyof typeof streams;

/** Every token that an id stands for. */
const ANY = '*';
/** The longest a manager takes to answer is an hour and a half minute: `SandboxExec`. */
export const REPLY_WITHIN_MS = 2 * 3_600_000;
/** All managers share the requests that are not for one of them. */
export const MANAGERS_QUEUE = 'sandbox-manager';

const inboxPrefix = (service: ServiceName): string => `_INBOX.${service}`;
const wakesOf = (role: WakeRole): string => wakeSubject(role, ANY, ANY);
const lettersOf = (...kinds: readonly DeadLetterKind[]): string[] => kinds.map((kind) => deadLetterSubject(kind, ANY));

/** Looking at a stream, and at its consumer where it has one. */
const look = (key: StreamKey): string[] => [
  `$JS.API.STREAM.INFO.${streams[key].name}`,
  `$JS.API.CONSUMER.INFO.${streams[key].name}.${streams[key].consumer}`,
];

/** Taking messages of a role's consumer, answering them, and removing what the consumer cannot give any more. */
function take(role: WakeRole): string[] {
  const { name, consumer } = streams[role];
  return [
    ...look(role),
    `$JS.API.CONSUMER.MSG.NEXT.${name}.${consumer}`,
    `$JS.ACK.${name}.${consumer}.>`,
    // The form with domain and account.
    `$JS.ACK.*.*.${name}.${consumer}.>`,
    `$JS.API.STREAM.MSG.DELETE.${name}`,
    `$JS.API.STREAM.MSG.GET.${name}`,
    `$JS.API.DIRECT.GET.${name}.>`,
  ];
}

function make(key: StreamKey): string[] {
  const { name, consumer } = streams[key];
  return [
    ...['CREATE', 'UPDATE', 'INFO'].map((act) => `$JS.API.STREAM.${act}.${name}`),
    // Of nats-server before 2.9.3 and after.
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
      CANCEL_ALL,
      configSubject(ANY),
      // The ends of queued runs.
      runEventsSubject(ANY),
      SandboxProbe.name,
      ...look('turns'),
    ],
    subscribe: [runEventsSubject(ANY)],
  },
  'agent-runner': {
    publish: [
      ...(['turns', 'subagents', 'memory'] as const).map(wakesOf),
      ...lettersOf('run', 'malformed'),
      runEventsSubject(ANY),
      CANCEL_ALL,
      SandboxAcquire.name,
      SandboxBlocked.name,
      managerSubject(ANY, { name: ANY }),
      ...take('turns'),
      ...(['turns', 'subagents', 'memory', 'deadLetters'] as const).flatMap(make),
    ],
    // Events of tasks are among the first.
    subscribe: [runEventsSubject(ANY), CANCEL_ALL, COMMAND_OUTPUTS, configSubject(ANY)],
  },
  'subagent-pool': {
    publish: [
      wakesOf('subagents'),
      ...lettersOf('run', 'malformed'),
      runEventsSubject(ANY),
      SandboxAcquire.name,
      SandboxBlocked.name,
      managerSubject(ANY, { name: ANY }),
      ...take('subagents'),
      ...look('deadLetters'),
    ],
    subscribe: [CANCEL_ALL, COMMAND_OUTPUTS, configSubject(ANY)],
  },
  'memory-worker': {
    publish: [...lettersOf('memory', 'malformed'), ...take('memory'), ...look('deadLetters')],
    subscribe: [],
  },
  'sandbox-manager': {
    publish: [COMMAND_OUTPUTS],
    subscribe: [SandboxAcquire.name, SandboxProbe.name, SandboxBlocked.name, managerSubject(ANY, { name: ANY })].map(
      (subject) => `${subject} ${MANAGERS_QUEUE}`,
    ),
  },
};

/** What a service may do on the bus. */
export function busAccess(service: ServiceName): BusAccess {
  const { publish, subscribe } = subjects[service];
  return {
    publish,
    subscribe: [...subscribe, `${inboxPrefix(service)}.>`],
    replies: service === 'sandbox-manager',
    makesStreams: service === 'agent-runner',
    inboxPrefix: inboxPrefix(service),
  };
}
