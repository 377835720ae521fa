export type {
  Bus,
  BusOptions,
  Cancels,
  PublishedWake,
  PullOptions,
  RunEvents,
  Scatter,
  ThreadRuns,
  Wake,
  WakePull,
  Wakes,
} from './connection/bus.js';
export type { Handoffs, Offer, OfferAnswer, OfferIntake, UnadmittedOffer } from './connection/handoff-port.js';
export type { RpcClient } from './connection/procedures.js';
export { connectBus } from './connect-bus.js';
export { natsTarget } from './connection/nats-target.js';
export { type AskRunner, createTurnOffers, type TurnOffers } from './wakes/turn-offers.js';
export { PublishRequests } from './sandbox-client/publish-requests.js';
export { createRemoteSandbox } from './sandbox-client/remote-sandbox.js';
export { createRpcClient, type SendRequest } from './rpc/rpc-client.js';
