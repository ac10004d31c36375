// Applications with an embedded browser, and its CORS requests and checks.

import assert from 'node:assert/strict';

export const ORIGINS = ['app://obsidian.md', 'capacitor://localhost', 'http://localhost'];

/** Sends a preflight request as a browser does, without credentials. */
export async function preflight(url, origin, method, headers) {
  const answer = await fetch(url, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': method,
      'access-control-request-headers': headers.map((name) => name.toLowerCase()).sort().join(),
    },
  });
  const place = `OPTIONS ${url} of ${origin}`;
  assert.equal(answer.status, 204, place);
  readable(answer, origin, place);
  const listed = (name) => answer.headers.get(name).toLowerCase().split(/, */);
  assert.ok(listed('access-control-allow-methods').includes(method.toLowerCase()), place);
  const allowed = listed('access-control-allow-headers');
  for (const name of headers) assert.ok(allowed.includes(name.toLowerCase()), `${place}: ${name}`);
  assert.ok(Number(answer.headers.get('access-control-max-age')) >= 600, place);
}

/** Checks that the application may read a response. */
export function readable({ headers }, origin, place) {
  assert.equal(headers.get('access-control-allow-origin'), origin, place);
  assert.equal(headers.get('access-control-allow-credentials'), 'true', place);
  assert.match(headers.get('vary') ?? '', /origin/i, place);
}
