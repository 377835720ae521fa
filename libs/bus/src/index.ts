export type {
  Bus,
  BusOptions,
  Cancels,
  Handoffs,
  Offer,
  OfferAnswer,
  OfferIntake,
  UnadmittedOffer,
  PublishedWake,
  PullOptions,
  RunEvents,
  Scatter,
  ThreadRuns,
  Wake,
  WakePull,
  Wakes,
} from './connection/bus.js';
export type { RpcClient } from './connection/procedures.js';
export { connectBus } from './connect-bus.js';
export { natsTarget } from './connection/nats-target.js';
export { LastTakers } from './wakes/last-takers.js';
export { PublishRequests } from './sandbox-client/publish-requests.js';
export { createRemoteSandbox } from './sandbox-client/remote-sandbox.js';
export { createRpcClient, type SendRequest } from './rpc/rpc-client.js';
