export type { Apps } from './apps.js';
export { type Database, type DatabaseOptions, databaseAddress, openDatabase } from './database.js';
export type { Settings } from './settings.js';
