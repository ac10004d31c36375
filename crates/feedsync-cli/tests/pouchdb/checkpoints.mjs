// Positions from which replications continue.

import assert from 'node:assert/strict';

import { documents, pull, push, store } from './replicas.mjs';
import { onEachAdapter, scenario } from './suite.mjs';

/** The `since` of each request for changes of the hub. */
const places = (requests) => requests.filter(({ path }) => path === '/_changes')
  .map(({ query }) => query.get('since'));

onEachAdapter('a second pull reads what is new', async (place) => {
  const client = place.local();
  await store(place.remote(), documents(50));
  await pull(client, place.remote());
  await place.remote().put({ _id: 'new' });
  const { remote, requests } = place.watched();
  const { docs_read } = await pull(client, remote);
  assert.equal(docs_read, 1);
  assert.ok(places(requests).every((since) => since !== '0'), places(requests).join());
});

onEachAdapter('a second push compares what is new', async (place) => {
  const client = place.local();
  await store(client, documents(50));
  await push(client, place.remote());
  await client.put({ _id: 'new' });
  const { remote, requests } = place.watched();
  await push(client, remote);
  const compared = requests.filter(({ path }) => path === '/_revs_diff');
  assert.deepEqual(compared.map(({ body }) => Object.keys(JSON.parse(body))), [['new']]);
});

onEachAdapter('a pull that is broken off goes on where it was', async (place) => {
  const client = place.local();
  await store(place.remote(), documents(300));
  const broken = client.replicate.from(place.remote(), { batch_size: 50 });
  let batches = 0;
  await new Promise((ended) => {
    broken.on('change', () => {
      if (++batches === 3) broken.cancel();
    });
    broken.on('complete', ended);
  });
  const before = (await client.info()).doc_count;
  assert.ok(before >= 150 && before < 300, `${before}`);
  const { docs_read } = await pull(client, place.remote(), { batch_size: 50 });
  assert.ok(docs_read <= 300 - before + 50, `${docs_read} read again`);
  assert.equal((await client.info()).doc_count, 300);
});

scenario('a checkpoint that the hub has lost is none', async (place) => {
  const client = place.local();
  await store(place.remote(), documents(20));
  const { remote, requests } = place.watched();
  await pull(client, remote);
  const [checkpoint] = requests.filter(({ path, method }) =>
    method === 'PUT' && path.startsWith('/_local/'));
  const id = encodeURIComponent(checkpoint.path.slice('/_local/'.length));
  assert.equal((await place.raw('GET', `/_local/${id}`)).value.replicator, 'pouchdb');
  assert.equal((await place.raw('DELETE', `/_local/${id}`)).status, 200);
  const again = place.watched();
  const { docs_written } = await pull(client, again.remote);
  assert.equal(docs_written, 0);
  assert.equal(places(again.requests)[0], '0');
});

scenario('replications of other parts have checkpoints of their own', async (place) => {
  const client = place.local();
  await store(place.remote(), documents(20));
  await pull(client, place.remote(), { doc_ids: ['document-00001'] });
  const { docs_written } = await pull(client, place.remote());
  assert.equal(docs_written, 19);
});

scenario('as many checkpoints as there are replications are kept', async (place) => {
  const client = place.local();
  await store(place.remote(), documents(5));
  const { remote, requests } = place.watched();
  for (let count = 0; count < 8; count += 1) {
    await place.remote().put({ _id: `more-${count}` });
    assert.equal((await pull(client, remote)).docs_read, count ? 1 : 6);
  }
  const ids = new Set(requests.filter(({ path }) => path.startsWith('/_local/'))
    .map(({ path }) => path));
  assert.equal(ids.size, 1);
  const [path] = ids;
  const { value } = await place.raw('GET', `/_local/${encodeURIComponent(path.slice(8))}`);
  assert.equal(value.history.length, 5);
});

scenario('checkpoints are taken without a look at their revision', async (place) => {
  await place.raw('PUT', '');
  const put = async (body) => (await place.raw('PUT', '/_local/it', body)).value.rev;
  assert.equal(await put('{"n":1}'), '0-1');
  assert.equal(await put('{"n":2,"_rev":"0-1"}'), '0-2');
  assert.equal(await put('{"n":3,"_rev":"0-1"}'), '0-2');
  assert.equal(await put('{"n":4}'), '0-1');
  assert.equal((await place.raw('GET', '/_local/it')).value.n, 4);
});
