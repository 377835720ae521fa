import type { signInRoutes } from '@caribou/contracts';
import { endpoint } from '../../api/endpoint.js';

const isSignIn = true;

export const getSetupStatus = endpoint<typeof signInRoutes.setupStatus>('GET', '/v1/auth/setup-status', { isSignIn });
/** Whoever the credentials of this page belong to, without waiting for somebody to sign in. */
export const getCaller = endpoint<typeof signInRoutes.me>('GET', '/v1/auth/me', { isSignIn });
export const logIn = endpoint<typeof signInRoutes.login>('POST', '/v1/auth/login/local', { isSignIn });
export const initialize = endpoint<typeof signInRoutes.initialize>('POST', '/v1/auth/initialize', { isSignIn });
export const register = endpoint<typeof signInRoutes.register>('POST', '/v1/auth/register', { isSignIn });
export const logOut = endpoint<typeof signInRoutes.logout>('POST', '/v1/auth/logout', { isSignIn });
export const changePassword = endpoint<typeof signInRoutes.changePassword>('POST', '/v1/auth/change-password');
