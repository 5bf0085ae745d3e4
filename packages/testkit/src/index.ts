export * from './buckets-contract.js';
export * from './jobs-contract.js';
export * from './mariadb.js';
export * from './redis.js';
export * from './server.js';
export * from './stores-contract.js';
