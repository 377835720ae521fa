/** The services of the system; each has a user of its own at NATS and Redis, by this name. */
export const serviceNames = ['gateway', 'agent-runner', 'sandbox-manager', 'memory-worker', 'subagent-pool'] as const;

export type ServiceName = (typeof serviceNames)[number];
