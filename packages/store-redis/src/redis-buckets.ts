import { type DueTask, type Slice, sliceOf, type TimeBuckets, taskIdOf } from '@xtimer/pipeline';
import { FILLED, type Keys, MARK_KEEP_MS, sliceExpiresAt } from './keys.js';
import type { RedisCommand, RedisConnection } from './redis-connection.js';

/** Members in one ZADD or ZREM: above it nothing is gained, and Redis would stand still longer for others. */
const CHUNK = 1000;

export class RedisBuckets implements TimeBuckets {
  constructor(
    private readonly redis: RedisConnection,
    private readonly keys: Keys,
  ) {}

  async add(tasks: readonly DueTask[]): Promise<void> {
    const commands: RedisCommand[] = [];
    for (const [key, group] of this.bySlice(tasks)) {
      for (const chunk of chunksOf(group)) {
        const members = chunk.flatMap((task) => [task.dueAt, taskIdOf(task)]);
        commands.push(['zadd', key, ...members]);
      }
      // Set each time: an emptied Redis has forgotten it.
      commands.push(['pexpireat', key, sliceExpiresAt(sliceOf(group[0]!))]);
    }
    await this.redis.run(commands);
  }

  async due(slices: readonly Slice[], before: number): Promise<DueTask[]> {
    const replies = await this.redis.run(
      slices.map((slice) => ['zrangebyscore', this.keys.tasks(slice), '-inf', `(${before}`, 'WITHSCORES']),
    );
    const found: DueTask[] = [];
    for (const [index, slice] of slices.entries()) {
      const flat = replies[index] as string[];
      for (let at = 0; at < flat.length; at += 2) {
        const [timerId, runTimer] = flat[at]!.split('_');
        found.push({
          timerId: Number(timerId),
          runTimer: Number(runTimer),
          bucket: slice.bucket,
          dueAt: Number(flat[at + 1]),
        });
      }
    }
    return slices.length > 1 ? found.sort((a, b) => a.dueAt - b.dueAt) : found;
  }

  async remove(tasks: readonly DueTask[]): Promise<void> {
    const commands: RedisCommand[] = [];
    for (const [key, group] of this.bySlice(tasks)) {
      for (const chunk of chunksOf(group)) commands.push(['zrem', key, ...chunk.map(taskIdOf)]);
    }
    await this.redis.run(commands);
  }

  async unfilled(buckets: readonly number[]): Promise<number[]> {
    const marks = await this.redis.run(buckets.map((bucket) => ['get', this.keys.mark(bucket)]));
    return buckets.filter((_, index) => marks[index] !== FILLED);
  }

  async beginFill(buckets: readonly number[], token: string): Promise<void> {
    await this.redis.run(buckets.map((bucket) => ['set', this.keys.mark(bucket), token, 'PX', MARK_KEEP_MS]));
  }

  async endFill(buckets: readonly number[], token: string): Promise<boolean[]> {
    const replies = await this.redis.run(
      buckets.map((bucket) => ['endFill', this.keys.mark(bucket), token, FILLED, MARK_KEEP_MS]),
    );
    return replies.map((reply) => reply === 1);
  }

  private bySlice(tasks: readonly DueTask[]): Map<string, DueTask[]> {
    const groups = new Map<string, DueTask[]>();
    for (const task of tasks) {
      const key = this.keys.tasks(sliceOf(task));
      const group = groups.get(key);
      if (group) group.push(task);
      else groups.set(key, [task]);
    }
    return groups;
  }
}

function* chunksOf<T>(all: readonly T[]): Generator<readonly T[]> {
  for (let at = 0; at < all.length; at += CHUNK) yield all.slice(at, at + CHUNK);
}
