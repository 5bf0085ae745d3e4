export { type AddressGuard, AllowListError, createGuard, LOOPBACK, parseAllowList } from './address-guard.js';
export { CallbackClient, type CallbackClientOptions } from './callback-client.js';
export type { ResolveAll } from './connector.js';
export { bodyHint, headerProblem, urlProblem } from './validate.js';
