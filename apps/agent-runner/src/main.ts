import { runMain } from '@caribou/service';
import { runAgentWorker } from '@caribou/worker';
import { agentRunner } from './agent-runner.js';

runMain(() => runAgentWorker(agentRunner));
