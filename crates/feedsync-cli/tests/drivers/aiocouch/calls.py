"""The calls of `aiocouch` for Python, as its documentation shows them, by an administrator and a user.

    python calls.py ADDRESS ADMINISTRATOR USER PASSWORD
"""

import asyncio
import os
import sys
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from calls import end, refused, works

import aiohttp
from aiocouch import (
    ConflictError, CouchDB, ForbiddenError, NotFoundError, PreconditionFailedError, UnauthorizedError,
)
from aiocouch.document import Document, SecurityDocument
from aiocouch.event import ChangedEvent, DeletedEvent

warnings.simplefilter("ignore")
address, anna, bert, password = sys.argv[1:]


async def cookie_of(user):
    async with aiohttp.ClientSession() as session:
        sent = {"name": user, "password": password}
        async with session.post(f"{address}/_session", json=sent) as answer:
            return answer.cookies["AuthSession"].value


async def sessions():
    with works("a session that is closed by hand"):
        couchdb = CouchDB(address, user=anna, password=password)
        await couchdb.check_credentials()
        await couchdb.close()
    with works("a session with a cookie"):
        async with CouchDB(address, cookie=await cookie_of(anna)) as couchdb:
            await couchdb.check_credentials()
            assert isinstance(await couchdb.keys(), list)
    with refused("a wrong password", UnauthorizedError, ""):
        async with CouchDB(address, user=anna, password="wrong") as couchdb:
            await couchdb.check_credentials()
    with works("CouchDB.info"):
        async with CouchDB(address, user=anna, password=password) as couchdb:
            assert (await couchdb.info())["couchdb"] == "Welcome"


async def documents(couchdb):
    with works("CouchDB.create"):
        animals = await couchdb.create("animals")
    with works("CouchDB.create of a database that may exist"):
        await couchdb.create("animals", exists_ok=True)
    with refused("CouchDB.create of an existing database", PreconditionFailedError, ""):
        await couchdb.create("animals")
    with works("CouchDB[name]"):
        assert (await couchdb["animals"]).id == "animals"
    with refused("CouchDB[name] of a missing database", NotFoundError, ""):
        await couchdb["plants"]
    with works("Database.create and Document.save"):
        doc = await animals.create("butterfly", data={"wings": 4})
        doc["name"] = "The butterfly"
        await doc.save()
        assert doc.rev.startswith("1-")
    with works("Database[id], and an update"):
        doc = await animals["butterfly"]
        doc["legs"] = 6
        await doc.save()
        assert (await animals["butterfly"]).data == doc.data
    with works("Database.get with a default"):
        assert (await animals.get("wolpertinger", default={"rare": True}))["rare"]
    with works("Document.fetch"):
        fetched = Document(animals, "butterfly")
        await fetched.fetch()
        assert fetched["legs"] == 6
    with works("Document as a context"):
        async with Document(animals, "spider") as spider:
            spider["legs"] = 8
        assert (await animals["spider"])["legs"] == 8
    with refused("Document.save of an old revision", ConflictError, ""):
        fetched["legs"] = 5
        doc["wings"] = 2
        await doc.save()
        await fetched.save()
    with works("Document.info resolves a conflict"):
        fetched.rev = (await fetched.info())["rev"]
        await fetched.save()
    with works("Document.copy, revs and conflicts"):
        await fetched.copy("moth")
        assert len(await fetched.revs()) == 4 and await fetched.conflicts() == []
    with works("Document.delete"):
        await (await animals["moth"]).delete()
        assert [key async for key in animals.akeys()] == ["butterfly", "spider"]
    with works("Database.docs by ids and by a prefix"):
        assert [it.id async for it in animals.docs(["spider"])] == ["spider"]
        assert [it.id async for it in animals.docs(prefix="butter")] == ["butterfly"]
    with works("Database.values"):
        assert [it["legs"] async for it in animals.values()] == [5, 8]
    with works("Attachment.save, fetch, exists and delete"):
        image = fetched.attachment("image.png")
        await image.save(b"\x89PNG", "image/png")
        assert await image.fetch() == b"\x89PNG" and image.content_type == "image/png"
        await image.delete()
        assert not await image.exists()
    with works("Database.info"):
        assert (await animals.info())["doc_count"] == 2
    return animals


async def many(animals):
    with works("Database.create_docs"):
        async with animals.create_docs(["ant", "bee"]) as bulk:
            async for doc in bulk:
                doc["legs"] = 6
        assert len(bulk.ok) == 2 and bulk.error == []
    with works("Database.create_docs tells conflicts"):
        async with animals.create_docs(["ant"]) as bulk:
            async for doc in bulk:
                doc["legs"] = 7
        assert bulk.error[0].id == "ant" and bulk.response[0]["error"] == "conflict"
    with works("Database.update_docs"):
        async with animals.update_docs(["ant", "llama"], create=True) as bulk:
            async for doc in bulk:
                doc["llama"] = "awesome"
        assert (await animals["llama"])["llama"] == "awesome"
    with works("Database.update_docs with another document"):
        async with animals.update_docs() as bulk:
            bee = await animals["bee"]
            bee["wings"] = 4
            bulk.append(bee)
        assert (await animals["bee"])["wings"] == 4
    with works("Database.index and find"):
        assert (await animals.index({"fields": ["legs"]}))["result"] == "created"
        found = [it.id async for it in animals.find({"legs": {"$gt": 6}})]
        assert found == ["spider"]
    with works("DesignDocument.create_view and view"):
        design = await animals.design_doc("limbs")
        await design.create_view("legs", map_function="function (doc) { emit(doc.legs, doc.wings); }")
        rows = await animals.view("limbs", "legs").get(key=8)
        assert list(rows.keys()) == ["spider"] and rows.total_rows == 5
    with works("View.akeys, aitems, avalues, ids and docs"):
        view = animals.view("limbs", "legs")
        assert "spider" in [id async for id in view.akeys()]
        assert (8, None) in [item async for item in view.aitems()]
        assert 4 in [value async for value in view.avalues()]
        assert [id async for id in view.ids([8])] == ["spider"]
        assert [doc["legs"] async for doc in view.docs([8])] == [8]


async def changes(animals):
    with works("Database.changes"):
        events = [event async for event in animals.changes()]
        assert {event.id for event in events if isinstance(event, DeletedEvent)} == {"moth"}
        [llama] = [event for event in events if event.id == "llama"]
        assert isinstance(llama, ChangedEvent) and (await llama.doc())["llama"] == "awesome"
    with works("Database.changes after an event"):
        last = events[-1].sequence
        await (await animals.create("new")).save()
        assert [it.id async for it in animals.changes(last_event_id=last)] == ["new"]
    with works("Database.changes continuously"):
        async def first():
            async for event in animals.changes(feed="continuous", since="now"):
                return event.id
        listening = asyncio.ensure_future(first())
        await asyncio.sleep(0.3)
        await (await animals.create("newer")).save()
        assert await asyncio.wait_for(listening, 20) == "newer"


async def permissions(couchdb, animals):
    async with CouchDB(address, user=bert, password=password) as other:
        with refused("a database of another user", NotFoundError, ""):
            await other["animals"]
        with works("SecurityDocument as a context"):
            async with SecurityDocument(animals) as security:
                security.add_member(bert)
                security.add_member_role("zoo")
            security = await animals.security()
            assert security.members == [anna, bert] and security.member_roles == ["zoo"]
        with works("a member reads and writes"):
            doc = await (await other["animals"])["ant"]
            doc["legs"] = 5
            await doc.save()
        with refused("a member cannot change the permissions", ForbiddenError, ""):
            security = await (await other["animals"]).security()
            security.add_admin(bert)
            await security.save()
        with works("SecurityDocument.add_admin and remove_member"):
            security = await animals.security()
            security.add_admin(bert)
            security.remove_member(bert)
            await security.save()
            assert (await (await other["animals"]).security()).admins == [anna, bert]
    with works("Database.delete"):
        await animals.delete()
        assert "animals" not in await couchdb.keys()


async def main():
    await sessions()
    async with CouchDB(address, user=anna, password=password) as couchdb:
        animals = await documents(couchdb)
        await many(animals)
        await changes(animals)
        await permissions(couchdb, animals)


asyncio.run(main())
end()
