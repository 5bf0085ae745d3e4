/** Just enough of xtimer's API for the demo. */
export function apiClient(base, token) {
  async function call(method, path, { query, body } = {}) {
    const response = await fetch(`${base}${path}${query ? `?${new URLSearchParams(query)}` : ''}`, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
      body: body && JSON.stringify(body),
    });
    const answer = await response.json();
    if (answer.code !== 0) throw new Error(`${method} ${path}: ${response.status} ${answer.message}`);
    return answer.data;
  }
  return {
    get: (path, query) => call('GET', path, { query }),
    /** `body` may be left out where the query says it all. */
    post: (path, body, query) => call('POST', path, { body, query }),
    /** All tasks a query matches, newest first, over all pages. */
    async tasks(query) {
      const all = [];
      let cursor;
      do {
        const page = await call('GET', '/xtimer/getTaskList', {
          query: { pageSize: 200, ...query, ...(cursor && { cursor }) },
        });
        all.push(...page.list);
        cursor = page.nextCursor;
      } while (cursor);
      return all;
    },
  };
}
