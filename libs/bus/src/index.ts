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
export type { CallOptions, CallTarget, RpcClient } from './rpc-client.js';
// connectBus(options: BusOptions): Bus
// createRpcClient(bus: Bus): RpcClient
// createRemoteSandbox(options: { rpc: RpcClient; registry: Pick<SandboxRegistry, 'isManagerAlive'>; clock?: Clock }): SandboxPort
