// A collection that is also a database: PouchDB on one side, the program and other hubs on the other.

import assert from 'node:assert/strict';

import { GOES_ON, found, pull, push, refused, until } from './replicas.mjs';
import { scenario } from './suite.mjs';

/** Starts a hub whose collection `notes` is also a database; returns the hub and the address of the database. */
async function house(place, format = 'json') {
  const hub = await place.ownHub([], (hub) => {
    hub.run(['collection', 'create', 'notes', '--format', format]);
    hub.run(['collection', 'set', 'notes', 'documents=true']);
  });
  place.name = 'notes';
  const url = place.url;
  await until('it is opened', async () => (await fetch(url)).ok);
  return { hub, url };
}

/** JSON output of the program for an item. */
function shown(hub, id) {
  return JSON.parse(hub.run(['--json', 'show', 'notes', id]));
}

function items(hub) {
  return JSON.parse(hub.run(['--json', 'ls', 'notes']));
}

/** Adds an item with the program; returns its id. */
function add(hub, title) {
  return JSON.parse(hub.run(['--json', 'add', 'notes', '--title', title])).id;
}

/** Converts the id of an item to that of a document. */
const documentId = (item) => decodeURIComponent(item);

scenario('a collection is a database, and each sees what the other does', async (place) => {
  const { hub } = await house(place);
  const client = place.local();
  place.while(client.sync(place.remote(), GOES_ON));
  const milk = add(hub, 'milk');
  const document = await until('the item is a document', () => found(client, documentId(milk)));
  assert.equal(document.title, 'milk');
  await client.put({ ...document, title: 'oat milk' });
  await client.put({ _id: 'to do/bread', title: 'bread', done: false, price: 1.5 });
  await until('the documents are items', () => items(hub).length === 2);
  await until('the edit is there', () => shown(hub, milk).title === 'oat milk');
  assert.equal(shown(hub, 'to%20do%2Fbread').title, 'bread');
  hub.run(['edit', 'notes', 'to%20do%2Fbread', '--title', 'rye']);
  const bread = await until('the edit is seen', async () => {
    const seen = await client.get('to do/bread');
    return seen.title === 'rye' && seen;
  });
  assert.deepEqual([bread.done, bread.price, bread._rev.split('-')[0]], [false, 1.5, '2']);
  hub.run(['rm', 'notes', milk]);
  await until('the deletion is seen', async () => !(await found(client, documentId(milk))));
  await client.remove(bread);
  await until('and the other one', () => items(hub).length === 0);
});

scenario('who edits on both sides at once has a conflict on both, and resolves it on either', async (place) => {
  const { hub, url } = await house(place);
  const client = place.local();
  for (const resolves of ['the program', 'PouchDB']) {
    const item = add(hub, 'milk');
    const id = documentId(item);
    await until('it is there', async () => (await fetch(`${url}/${encodeURIComponent(id)}`)).ok);
    await pull(client, place.remote());
    hub.run(['edit', 'notes', item, '--title', 'two milk']);
    await client.put({ ...(await client.get(id)), title: 'oat milk' });
    await push(client, place.remote());
    await until('the item has a conflict', () => shown(hub, item).conflicts.length === 1);
    const both = await until('the document has one', async () => {
      await pull(client, place.remote());
      const seen = await client.get(id, { conflicts: true });
      return seen._conflicts?.length === 1 && seen;
    });
    const other = await client.get(id, { rev: both._conflicts[0] });
    assert.deepEqual([both.title, other.title].sort(), ['oat milk', 'two milk']);
    if (resolves === 'PouchDB') {
      await client.remove(id, both._conflicts[0]);
      await client.put({ ...(await client.get(id)), title: 'both' });
      await push(client, place.remote());
    } else {
      hub.run(['resolve', 'notes', item, '--title', 'both']);
    }
    await until('the item has none', () => {
      const { conflicts, title } = shown(hub, item);
      return conflicts.length === 0 && title === 'both';
    });
    await until('the document has none', async () => {
      await pull(client, place.remote());
      const seen = await client.get(id, { conflicts: true });
      return seen._conflicts === undefined && seen.title === 'both';
    });
  }
});

scenario('two hubs that follow each other show the same revisions to all', async (place) => {
  const first = await house(place);
  const second = await house(place);
  const collection = first.url.replace('/couch/', '/collections/');
  second.hub.run(['sync', 'notes', collection]);
  const sync = () => second.hub.run(['sync', 'notes']);
  const [one, two] = [place.local(), place.local()];
  const at = ({ url }) => new place.PouchDB(url);
  await one.put({ _id: 'a', text: 'first' });
  await push(one, at(first));
  await until('the hub has it', () => items(first.hub).length === 1);
  sync();
  await until('so has the other', async () => {
    await pull(two, at(second));
    return found(two, 'a');
  });
  // Both sides edit the document, each at another hub.
  await one.put({ ...(await one.get('a')), text: 'one' });
  await push(one, at(first));
  second.hub.run(['edit', 'notes', 'a', '--content', 'two']);
  await until('the first has its edit', () => shown(first.hub, 'a').updates === 2);
  sync();
  sync();
  const tree = async (hub, client) => {
    await pull(client, at(hub));
    const leaves = await client.get('a', { open_revs: 'all' });
    return leaves.map(({ ok }) => ok._rev).sort();
  };
  await until('both have both', async () => {
    const trees = [await tree(first, one), await tree(second, two)];
    return trees[0].length === 2 && JSON.stringify(trees[0]) === JSON.stringify(trees[1]);
  });
  assert.equal((await one.get('a'))._rev, (await two.get('a'))._rev);
  assert.equal(shown(first.hub, 'a').conflicts.length, 1);
  assert.equal(shown(second.hub, 'a').conflicts.length, 1);
});

scenario('an entry of a feed is a document, and stays one', async (place) => {
  const { hub } = await house(place, 'atom');
  const client = place.local();
  place.while(client.sync(place.remote(), GOES_ON));
  const item = add(hub, 'milk & honey');
  const id = documentId(item);
  const document = await until('it is a document', () => found(client, id));
  assert.equal(document.title, 'milk & honey');
  assert.equal(document['fs:native'].format, 'atom');
  // After a replication to another hub and back, it is the same entry.
  const again = await place.ownHub([], (other) => {
    other.run(['collection', 'create', 'notes', '--format', 'atom']);
    other.run(['collection', 'set', 'notes', 'documents=true']);
  });
  await until('it is opened', async () => (await fetch(place.url)).ok);
  await push(client, place.remote());
  await until('it is an item there', () => items(again).length === 1);
  const text = (hub) => hub.run(['export', 'notes']).match(/<entry.*<\/entry>/s)?.[0];
  assert.equal(text(again), text(hub));
  await client.put({ ...document, title: 'oats' });
  await until('the edit is an entry', () => shown(hub, item).title === 'oats');
  assert.match(text(hub), /<title[^>]*>oats<\/title>/);
});

scenario('attachments are blobs, and go both ways', async (place) => {
  const { hub, url } = await house(place);
  const client = place.local();
  const text = Buffer.from('a picture').toString('base64');
  const attachments = { 'p.png': { content_type: 'image/png', data: text } };
  await client.put({ _id: 'a', _attachments: attachments });
  await push(client, place.remote());
  await until('it is an item', () => items(hub).length === 1);
  const feed = JSON.parse(hub.run(['export', 'notes']));
  const [blob] = feed.items[0]['fs:blobs'];
  assert.deepEqual([blob.name, blob.type, blob.length], ['p.png', 'image/png', '9']);
  const kept = await fetch(`${url.replace('/couch/notes', '/blobs')}/${blob['sha-256']}`);
  assert.equal(await kept.text(), 'a picture');
  // The item is edited, and the document still has the attachment.
  hub.run(['edit', 'notes', 'a', '--title', 'of a cat']);
  const seen = await until('the edit is seen', async () => {
    await pull(client, place.remote());
    const seen = await client.get('a', { attachments: true });
    return seen.title === 'of a cat' && seen;
  });
  assert.equal(seen._attachments['p.png'].data, text);
});

scenario('a hub that is killed carries on between its doors', async (place) => {
  const { hub } = await house(place);
  const client = place.local();
  const names = [];
  for (let round = 0; round < 5; round += 1) {
    for (let edit = 0; edit < 20; edit += 1) {
      names.push(add(hub, `item ${names.length}`));
      await client.put({ _id: `document ${round} ${edit}`, round, edit });
    }
    await push(client, place.remote());
    await hub.kill();
    await hub.again();
  }
  await until('all are items', () => items(hub).length === 200, 30_000);
  await until('all are documents', async () => {
    await pull(client, place.remote());
    return (await client.info()).doc_count === 200;
  }, 30_000);
  for (const name of names) {
    const { title } = await client.get(documentId(name), { conflicts: true });
    assert.match(title, /^item \d+$/);
  }
  assert.ok(items(hub).every(({ conflicts }) => conflicts === 0));
});

scenario('the database of a collection is no database of its own', async (place) => {
  const { hub } = await house(place);
  const remote = place.remote();
  await refused(remote.destroy(), 403);
  const security = await place.raw('PUT', '/_security', '{}');
  assert.equal(security.status, 403);
  assert.match(security.value.reason, /collection notes/);
  assert.equal((await place.raw('POST', '/_purge', '{}')).status, 403);
  for (const method of ['GET', 'PUT', 'DELETE']) {
    const body = method === 'PUT' ? '{}' : undefined;
    assert.equal((await place.raw(method, '/_local/fs:collection', body)).status, 403);
  }
  add(hub, 'milk');
  await until('it is a document', async () => (await remote.info()).doc_count === 1);
  // While `documents` is off, no change is copied. When it is on again, copying continues from its last position.
  hub.run(['collection', 'set', 'notes', 'documents=false']);
  await new Promise((later) => setTimeout(later, 1_500));
  add(hub, 'bread');
  await remote.put({ _id: 'rye' });
  await new Promise((later) => setTimeout(later, 300));
  assert.deepEqual([(await remote.info()).doc_count, items(hub).length], [2, 2]);
  hub.run(['collection', 'set', 'notes', 'documents=true']);
  await until('both have all', async () => {
    return (await remote.info()).doc_count === 3 && items(hub).length === 3;
  });
  hub.run(['collection', 'set', 'notes', 'documents=false']);
  await remote.destroy();
});

scenario('who makes a collection of the name of a database does not get at it', async (place) => {
  const hub = await place.ownHub();
  place.name = 'notes';
  const remote = place.remote();
  await remote.put({ _id: 'secret' });
  hub.run(['collection', 'create', 'notes']);
  assert.throws(() => hub.run(['collection', 'set', 'notes', 'documents=true']), /there is a database notes/);
  assert.equal(items(hub).length, 0);
});
