// Many concurrent clients.

import assert from 'node:assert/strict';

import {
  GOES_ON, bytes, documents, event, found, pull, push, same, store, until,
} from './replicas.mjs';
import { scenario } from './suite.mjs';

scenario('fifty clients pull a megabyte each at once', async (place) => {
  const text = (number) => bytes(8_000, number).toString('base64');
  await store(place.remote(), documents(100, (number) => ({ text: text(number) })));
  const clients = Array.from({ length: 50 }, () => place.local());
  const results = await Promise.all(clients.map((client) => pull(client, place.remote())));
  assert.ok(results.every(({ docs_written }) => docs_written === 100));
});

scenario('fifty clients push a megabyte each at once', async (place) => {
  await place.remote().info();
  const text = bytes(8_000).toString('base64');
  const clients = Array.from({ length: 50 }, () => place.local());
  await Promise.all(clients.map((client, of) => store(client,
    documents(100, () => ({ text })).map((it) => ({ ...it, _id: `${of}-${it._id}` })))));
  await Promise.all(clients.map((client) => push(client, place.remote())));
  assert.equal((await place.remote().info()).doc_count, 5_000);
});

scenario('twenty-four clients push attachments at once', async (place) => {
  await place.remote().info();
  const clients = Array.from({ length: 24 }, () => place.local());
  await Promise.all(clients.map((client, of) =>
    client.putAttachment(`it-${of}`, 'data', bytes(300_000, of), 'image/png')));
  await Promise.all(clients.map((client) => push(client, place.remote())));
  const reader = place.local();
  await pull(reader, place.remote());
  await same(reader, place.remote());
});

scenario('a database is filled from many sides while it is pulled', async (place) => {
  const hub = place.remote();
  await hub.info();
  const reader = place.local();
  const live = place.while(reader.replicate.from(place.remote(), { live: true, batch_size: 7 }));
  await Promise.all(Array.from({ length: 8 }, async (_, writer) => {
    for (let count = 0; count < 40; count += 1) {
      await place.remote({ skip_setup: true }).put({ _id: `${writer}-${count}` });
    }
  }));
  await until('all documents', async () => (await reader.info()).doc_count === 320, 10_000);
  live.cancel();
  await same(reader, hub);
});

scenario('clients that go away while they wait make place for others', async (place) => {
  await place.ownHub(['--limits-followers', '8']);
  await place.remote().info();
  for (let count = 0; count < 40; count += 1) {
    const gone = new AbortController();
    const waiting = await fetch(`${place.url}/_changes?feed=longpoll&since=now&heartbeat=30000`, {
      signal: gone.signal,
    });
    assert.ok(waiting.status === 200 || waiting.status === 503, `${waiting.status}`);
    gone.abort();
  }
  const client = place.local();
  const live = place.while(client.replicate.from(place.remote(), GOES_ON));
  await event(live, 'paused');
  await place.remote().put({ _id: 'news' });
  await until('the news', () => found(client, 'news'));
});
