export type {
  Bus,
  BusOptions,
  Cancels,
  PublishedWake,
  PullOptions,
  RunEvents,
  Wake,
  WakePull,
  Wakes,
} from './bus.js';
export { connectBus } from './connect-bus.js';
export { natsTarget } from './nats-target.js';
export { createRemoteSandbox } from './remote-sandbox.js';
export { createRpcClient, type RpcClient } from './rpc-client.js';
