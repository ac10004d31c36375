// A database with all kinds of contents.

import { bytes, documents, edit, push, remove, store } from './replicas.mjs';

/**
 * Stores `count` documents and three more in the database of the hub, among them two conflicts, a deletion, a design
 * document and attachments.
 */
export async function filled(place, count) {
  const hub = place.remote();
  const [one, other] = [place.local(), place.local()];
  await store(one, documents(count));
  await store(one, [{ _id: 'Grüße/+%"', n: 1 }, { _id: '_design/of us', views: {} }]);
  await one.putAttachment('with', 'Grüße "1".txt', Buffer.from('text '.repeat(500)), 'text/plain');
  const { _rev } = await one.get('with');
  await one.putAttachment('with', 'data.bin', _rev, bytes(70_000), 'application/octet-stream');
  await push(one, hub);
  await other.replicate.from(hub);
  await edit(one, 'document-00001', { by: 'one' });
  await edit(other, 'document-00001', { by: 'other' });
  await remove(one, 'document-00002');
  await edit(other, 'document-00002', { by: 'other' });
  await push(one, hub);
  await push(other, hub);
  return hub;
}
