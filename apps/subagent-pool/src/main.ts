import { runMain } from '@caribou/service';
import { runAgentWorker } from '@caribou/worker';
import { subagentPool } from './subagent-pool.js';

runMain(() => runAgentWorker(subagentPool));
