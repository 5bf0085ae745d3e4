import { type DueTask, MINUTE_MS, type Slice, sliceOf, type TimeBuckets, taskIdOf } from '@xtimer/pipeline';

/** A slice outlives its minute by this much, as in Redis. */
const SLICE_KEEP_MS = 60 * MINUTE_MS;

const filled = Symbol('filled');

/**
 * In-process time buckets. A slice is sorted once; what is added later is merged in by the next read, and
 * what was removed is stepped over, so a second's read costs what is due, also with 100,000 tasks in the minute.
 */
export class MemoryBuckets implements TimeBuckets {
  private readonly slices = new Map<string, SliceTasks>();
  /** `filled`, or the token it is being filled under. */
  private readonly marks = new Map<number, string | typeof filled>();
  private sweptAt = 0;

  constructor(private readonly now: () => number) {}

  async add(tasks: readonly DueTask[]): Promise<void> {
    this.sweep();
    for (const task of tasks) {
      const slice = sliceOf(task);
      const key = keyOf(slice);
      let held = this.slices.get(key);
      if (!held) {
        held = new SliceTasks(slice.minute + MINUTE_MS + SLICE_KEEP_MS);
        this.slices.set(key, held);
      }
      held.put(task);
    }
  }

  async due(slices: readonly Slice[], before: number): Promise<DueTask[]> {
    this.sweep();
    const found: DueTask[] = [];
    for (const slice of slices) this.slices.get(keyOf(slice))?.collect(before, found);
    return slices.length > 1 ? found.sort((a, b) => a.dueAt - b.dueAt) : found;
  }

  async remove(tasks: readonly DueTask[]): Promise<void> {
    for (const task of tasks) {
      const key = keyOf(sliceOf(task));
      const held = this.slices.get(key);
      if (held?.drop(task) === 0) this.slices.delete(key);
    }
  }

  async unfilled(buckets: readonly number[]): Promise<number[]> {
    return buckets.filter((bucket) => this.marks.get(bucket) !== filled);
  }

  async beginFill(buckets: readonly number[], token: string): Promise<void> {
    for (const bucket of buckets) this.marks.set(bucket, token);
  }

  async endFill(buckets: readonly number[], token: string): Promise<boolean[]> {
    return buckets.map((bucket) => {
      if (this.marks.get(bucket) !== token) return false;
      this.marks.set(bucket, filled);
      return true;
    });
  }

  /** Drops expired slices, at most once a second. */
  private sweep(): void {
    const now = this.now();
    if (now < this.sweptAt + 1000 && now >= this.sweptAt) return;
    this.sweptAt = now;
    for (const [key, slice] of this.slices) if (slice.expiresAt <= now) this.slices.delete(key);
  }
}

const keyOf = (slice: Slice): string => `${slice.bucket}:${slice.minute}`;

class SliceTasks {
  /** What is in the slice. An entry elsewhere that is not this very object was removed or moved. */
  private readonly live = new Map<string, DueTask>();
  private sorted: DueTask[] = [];
  /** Everything before it in `sorted` is gone. */
  private head = 0;
  private added: DueTask[] = [];

  constructor(readonly expiresAt: number) {}

  put(task: DueTask): void {
    const entry = { timerId: task.timerId, runTimer: task.runTimer, bucket: task.bucket, dueAt: task.dueAt };
    this.live.set(taskIdOf(task), entry);
    this.added.push(entry);
  }

  /** Returns the number left. */
  drop(task: DueTask): number {
    this.live.delete(taskIdOf(task));
    return this.live.size;
  }

  collect(before: number, into: DueTask[]): void {
    if (this.added.length > 0) this.merge();
    while (this.head < this.sorted.length && !this.has(this.sorted[this.head]!)) this.head++;
    for (let at = this.head; at < this.sorted.length; at++) {
      const entry = this.sorted[at]!;
      if (entry.dueAt >= before) break;
      if (this.has(entry)) into.push({ ...entry });
    }
  }

  private has(entry: DueTask): boolean {
    return this.live.get(taskIdOf(entry)) === entry;
  }

  /** One linear pass; only the newcomers are sorted. */
  private merge(): void {
    const added = this.added.filter((entry) => this.has(entry)).sort((a, b) => a.dueAt - b.dueAt);
    const merged: DueTask[] = [];
    let next = 0;
    for (let at = this.head; at < this.sorted.length; at++) {
      const entry = this.sorted[at]!;
      while (next < added.length && added[next]!.dueAt < entry.dueAt) merged.push(added[next++]!);
      merged.push(entry);
    }
    while (next < added.length) merged.push(added[next++]!);
    this.sorted = merged;
    this.head = 0;
    this.added = [];
  }
}
