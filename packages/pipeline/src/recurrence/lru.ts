/**
 * A bounded map that keeps what is used: two generations, the older one dropped whole when the younger is full.
 * Holds at most `capacity` entries, and what was used among the last `capacity / 2` different keys for sure.
 */
export class Lru<K, V> {
  private young = new Map<K, V>();
  private old = new Map<K, V>();

  constructor(private readonly capacity: number) {}

  get(key: K): V | undefined {
    const value = this.young.get(key);
    if (value !== undefined) return value;
    const aged = this.old.get(key);
    return aged === undefined ? undefined : this.set(key, aged);
  }

  set(key: K, value: V): V {
    if (this.young.size >= this.capacity / 2) {
      this.old = this.young;
      this.young = new Map();
    }
    this.young.set(key, value);
    return value;
  }
}
