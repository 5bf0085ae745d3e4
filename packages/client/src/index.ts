export { type Client, createClient } from './client.js';
export { type ClientErrorCode, XtimerError } from './error.js';
export type { CallOptions, ClientOptions } from './options.js';
