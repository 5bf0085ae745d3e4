import { readFileSync } from 'node:fs';

/** This build, as its package names it. */
export const version: string = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version;
