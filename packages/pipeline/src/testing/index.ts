/** Fakes of the ports and a virtual cluster, for tests; checked by the same contracts as the real stores. */
export * from './cluster.js';
export * from './memory-buckets.js';
export * from './memory-stores.js';
export * from './random.js';
export * from './samples.js';
