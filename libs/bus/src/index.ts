export type {
  Bus,
  BusOptions,
  Cancels,
  DeadLetters,
  PullOptions,
  RequestOptions,
  RunEventListener,
  RunEvents,
  StreamRole,
  Unsubscribe,
  Wake,
  WakePull,
  Wakes,
} from './bus.js';
export { connectBus } from './connect-bus.js';
export { type NatsTarget, natsTarget } from './nats-target.js';
export { createRemoteSandbox, type RemoteSandboxOptions } from './remote-sandbox.js';
export { type CallOptions, type CallTarget, createRpcClient, DEADLINE_HEADER, type RpcClient } from './rpc-client.js';
