/** The snapshots of the pages as an agent gets them from each server, to count and to check. */

const REST = /Next: snapshot\(\{ offset: (\d+) \}\)/;

/** Opens a page and returns the whole snapshot of it, however many calls it takes. */
export const TAKE = {
  async tabwire({ tool }, url) {
    await tool('execute', { code: `await page.goto('${url}', { waitUntil: 'networkidle' })` });
    const parts = [await tool('execute', { code: 'snapshot()' })];
    for (;;) {
      const offset = REST.exec(parts.at(-1).slice(-300))?.[1];
      if (offset === undefined) {
        return parts.join('\n');
      }
      parts.push(await tool('execute', { code: `snapshot({ offset: ${offset} })` }));
    }
  },
  async playwright({ tool }, url) {
    await tool('browser_navigate', { url });
    return tool('browser_snapshot');
  },
  async devtools({ tool }, url) {
    await tool('navigate_page', { pageId: 1, type: 'url', url });
    return tool('take_snapshot', { pageId: 1 });
  },
};
