import type { systemRoutes } from '@caribou/contracts';
import { endpoint } from './endpoint.js';

/** Version and capabilities of the gateway; answered to everybody. */
export const getInfo = endpoint<typeof systemRoutes.info>('GET', '/info', { isSignIn: true });
