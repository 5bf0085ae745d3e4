export * from './buckets-contract.js';
export * from './redis.js';
