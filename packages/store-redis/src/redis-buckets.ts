import { type DueTask, type Slice, sliceOf, type TimeBuckets, taskIdOf } from '@xtimer/pipeline';
import { type Keys, sliceExpiresAt } from './keys.js';
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

  async mark(): Promise<string | null> {
    return agreed(await this.marks());
  }

  async setMark(mark: string, expected: string | null): Promise<string> {
    const [main, ...copies] = await this.marks();
    const standing = agreed([main!, ...copies]);
    if (standing !== expected) return standing ?? '';
    // Compared with the first key as it was read: of several nodes that saw a loss, one wins.
    const [winner] = (await this.redis.run([['setIndexMark', this.keys.mark(), mark, main ?? '']])) as string[];
    // Dying before the copies are written looks like a loss, and the index is rebuilt once more.
    if (winner === mark) await this.redis.run(this.shardKeys().map((key) => ['set', key, mark]));
    return winner!;
  }

  private async marks(): Promise<(string | null)[]> {
    return (await this.redis.run(this.shardKeys().map((key) => ['get', key]))) as (string | null)[];
  }

  private shardKeys(): string[] {
    const shards = this.redis.shards();
    // Disconnected: any key will do to be told so.
    return (shards.length > 0 ? shards : [0]).map(this.keys.mark);
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

/** `null` as soon as one master has lost its mark, or has another one. */
const agreed = ([main, ...copies]: (string | null)[]): string | null =>
  copies.every((copy) => copy === main) ? (main ?? null) : null;

function* chunksOf<T>(all: readonly T[]): Generator<readonly T[]> {
  for (let at = 0; at < all.length; at += CHUNK) yield all.slice(at, at + CHUNK);
}
