import type { Bus } from '@caribou/bus';
import { Inject } from '@nestjs/common';
import type { Dependencies } from './dependencies.js';

/** Injects one of the gateway's dependencies; its name is the token. */
export const Dependency = (name: keyof Dependencies): ParameterDecorator & PropertyDecorator => Inject(name);

/** The part of the bus that the gateway uses. */
export type GatewayBus = Pick<
  Bus,
  | 'wakes'
  | 'offerTurn'
  | 'publishCancel'
  | 'publishEvents'
  | 'subscribeEvents'
  | 'checkStreams'
  | 'call'
  | 'askAll'
  | 'answerAll'
  | 'publishConfigChange'
  | 'publishThreadRun'
  | 'subscribeThreadRuns'
>;
