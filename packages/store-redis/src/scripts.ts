import { readFileSync } from 'node:fs';

/** The Lua files as commands of the client. `lua/` lies beside `src` and `dist` alike. */
const load = (file: string) => ({
  lua: readFileSync(new URL(`../lua/${file}.lua`, import.meta.url), 'utf8'),
  numberOfKeys: 1,
});

export const scripts = {
  claimSlice: load('claim-slice'),
  renewSlice: load('renew-slice'),
  closeSlice: load('close-slice'),
  releaseSlice: load('release-slice'),
  endFill: load('end-fill'),
  sharedTime: load('time'),
};
