import type { Dedupe } from '@xtimer/nestjs';
import { QueryFailedError } from 'typeorm';
import { ClaimedCall, type Transactions } from './database.js';

/** Claims a call's key in the transaction that has its effect: both are committed, or neither is. */
export const once = (transactions: Transactions): Dedupe => ({
  async claim(key, run) {
    let claimed = false;
    try {
      return await transactions.run(async (manager) => {
        // A second call of this key waits here for the first to commit, and is a duplicate then.
        await manager.insert(ClaimedCall, { key, claimedAt: Date.now() });
        claimed = true;
        return run(manager);
      });
    } catch (error) {
      if (!claimed && isDuplicate(error)) return undefined;
      throw error;
    }
  },
});

const DUPLICATE = ['SQLITE_CONSTRAINT_PRIMARYKEY', 'ER_DUP_ENTRY', '23505'];

const isDuplicate = (error: unknown): boolean =>
  error instanceof QueryFailedError && DUPLICATE.includes(String(Reflect.get(error.driverError, 'code')));
