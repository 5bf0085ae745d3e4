import { useSearchParams } from 'react-router';

/** What of a page's state lives in its address. A change of anything but the page itself leads back to the first page. */
export function useUrlState(pageKeys: readonly string[] = ['page', 'cursor']) {
  const [params, setParams] = useSearchParams();
  const change = (changes: Record<string, string | number | null | undefined>, { replace = false } = {}) =>
    setParams(
      (before) => {
        const after = new URLSearchParams(before);
        if (!Object.keys(changes).every((key) => pageKeys.includes(key) || key === 'task' || key === 'live')) {
          for (const key of pageKeys) after.delete(key);
        }
        for (const [key, value] of Object.entries(changes)) {
          if (value === null || value === undefined || value === '') after.delete(key);
          else after.set(key, String(value));
        }
        return after;
      },
      { replace },
    );
  /** `null` when absent. */
  const get = (key: string) => params.get(key);
  /** A whole number, or `null`: what somebody typed into the address must not break the page. */
  const number = (key: string) => {
    const text = params.get(key);
    return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
  };
  return { get, number, change, params };
}
