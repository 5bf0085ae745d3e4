/** The fields of `wanted` that `current` has otherwise. What `wanted` leaves out is not looked at, at any depth. */
export function differences<T extends object>(wanted: T, current: object): Partial<T> {
  const changed = Object.entries(wanted).filter(
    ([name, value]) => value !== undefined && !covers(Reflect.get(current, name), value),
  );
  return Object.fromEntries(changed) as Partial<T>;
}

function covers(current: unknown, wanted: unknown): boolean {
  if (wanted === null || typeof wanted !== 'object' || Array.isArray(wanted)) {
    return JSON.stringify(current) === JSON.stringify(wanted);
  }
  if (current === null || typeof current !== 'object') return false;
  return Object.entries(wanted).every(
    ([name, value]) => value === undefined || covers(Reflect.get(current, name), value),
  );
}
