/**
 * `npm run test:fault -- --minutes 10 --seed 7`: the long form of the fault suite. Real nodes and stores on 127.0.0.1
 * are killed, frozen and emptied under load; at the end the books must balance. Without arguments: 10 minutes, a
 * random seed, which is printed.
 */
import { parseArgs } from 'node:util';
import { endAll, onInterrupt, run } from './lib/processes.mjs';
import { bin, prepare, ROOT } from './lib/repo.mjs';

const { values } = parseArgs({ options: { minutes: { type: 'string' }, seed: { type: 'string' } } });
for (const [name, value] of Object.entries(values)) {
  if (!/^\d+(\.\d+)?$/.test(value)) {
    console.error(`--${name} takes a number, not ${value}`);
    process.exit(1);
  }
}

onInterrupt(endAll);
await prepare();
const { minutes = '10', seed = String(Date.now() % 100_000) } = values;
const { code } = await run(
  bin('vitest'),
  ['run', 'apps/server/test/fault/fault.spec.ts', '--project', 'e2e', '--disable-console-intercept'],
  { cwd: ROOT, env: { XTIMER_FAULT_MINUTES: minutes, XTIMER_FAULT_SEED: seed } },
);
process.exitCode = code;
