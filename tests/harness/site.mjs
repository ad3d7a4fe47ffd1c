/**
 * A small web site on 127.0.0.1 for tests. Its pages are strings of HTML or request handlers, by
 * path. It serves nothing from disk.
 */

import { EventEmitter, once } from 'node:events';
import http from 'node:http';

/** @typedef {(request: http.IncomingMessage, response: http.ServerResponse, site: any) => void} Handler */

/**
 * A page rendered for each request, for pages that embed an address of the site.
 * @param {(site: any) => string} render
 * @returns {Handler}
 */
export const html = (render) => (_request, response, site) =>
  response.setHeader('content-type', 'text/html; charset=utf-8').end(render(site));

/** A page with the page at a path in a frame of another process. @param {string} path @returns {Handler} */
export const framing = (path) =>
  html(
    (site) =>
      `<title>Framing</title><iframe id="inner" src="${site.url(path, 'localhost')}"></iframe>`,
  );

/** @param {string} source @returns {Handler} */
export const javascript = (source) => (_request, response) =>
  response.setHeader('content-type', 'text/javascript').end(source);

/** @param {Record<string, string | Handler>} pages */
export async function startSite(pages = {}) {
  const requests = new EventEmitter();
  const server = http.createServer((request, response) => {
    const { pathname } = new URL(request.url, 'http://site');
    requests.emit(pathname);
    const page = pages[pathname];
    if (typeof page === 'function') {
      page(request, response, site);
      return;
    }
    response.statusCode = page === undefined ? 404 : 200;
    html(() => page ?? 'Not found')(request, response, site);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  const site = {
    port,
    /**
     * Chrome treats `localhost` as another site than 127.0.0.1, and gives its frames a process of
     * their own.
     */
    url: (path = '/', host = '127.0.0.1') => `http://${host}:${port}${path}`,
    /**
     * Resolves at the next request for a path, which shows how far the code under test has come.
     */
    nextRequest: (path) => once(requests, path),
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
  return site;
}
