/** A small web site on 127.0.0.1 for tests: pages are given as functions or texts, by path. */

import { EventEmitter, once } from 'node:events';
import http from 'node:http';

/** @param {Record<string, string | ((request: http.IncomingMessage, response: http.ServerResponse) => void)>} pages */
export async function startSite(pages = {}) {
  const requests = new EventEmitter();
  const server = http.createServer((request, response) => {
    const { pathname } = new URL(request.url, 'http://site');
    requests.emit(pathname);
    const page = pages[pathname];
    if (typeof page === 'function') {
      page(request, response);
      return;
    }
    response.statusCode = page === undefined ? 404 : 200;
    response.setHeader('content-type', 'text/html; charset=utf-8');
    response.end(page ?? 'nothing here');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  return {
    port,
    /** The same site under another name is another origin to Chrome, and another process. */
    url: (path = '/', host = '127.0.0.1') => `http://${host}:${port}${path}`,
    /** Comes with the next request for a path: code under test says so that it has come this far. */
    asked: (path) => once(requests, path),
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
