import { VirtualClock } from '@xtimer/pipeline';
import { FakeBuckets, MemoryStores } from '@xtimer/pipeline/testing';
import { bucketsContract } from './buckets-contract.js';
import { jobsContract } from './jobs-contract.js';
import { storesContract } from './stores-contract.js';

// The fakes that the stages are tested with keep the same promises as the real stores.

storesContract('the pipeline tests’ fake', async () => {
  const stores = new MemoryStores(4);
  const open = async () => ({ timers: stores, tasks: stores, close: async () => {} });
  return { bucketsNum: 4, open, close: async () => {} };
});

jobsContract('the pipeline tests’ fake', async () => {
  const stores = new MemoryStores(4);
  const open = async () => ({ timers: stores, tasks: stores, jobs: stores.jobs, close: async () => {} });
  return { bucketsNum: 4, open, close: async () => {} };
});

bucketsContract('the pipeline tests’ fake', async () => {
  const clock = new VirtualClock();
  const fake = new FakeBuckets(() => clock.now());
  return {
    store: { buckets: fake, locks: fake, timeSource: fake, close: async () => {} },
    now: () => clock.now(),
    pass: (ms) => clock.advance(ms),
    end: async () => {},
  };
});
