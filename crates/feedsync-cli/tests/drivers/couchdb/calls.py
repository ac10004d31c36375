"""The calls of the package `couchdb` for Python, as its documentation shows them, by an administrator and a user.

    python calls.py ADDRESS ADMINISTRATOR USER PASSWORD
"""

import io
import os
import sys
import tempfile
import time
from urllib.parse import urlsplit

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from calls import end, refused, works

import couchdb
from couchdb import loader, mapping
from couchdb.design import ViewDefinition
from couchdb.http import (
    Forbidden, ResourceConflict, ResourceNotFound, ServerError, Unauthorized,
)
from couchdb.tools import dump, load

address, anna, bert, password = sys.argv[1:]
host = urlsplit(address).netloc


def url(user, path=""):
    return f"http://{user}:{password}@{host}/{path}"


server = couchdb.Server(url(anna))
NOT_EXECUTED = r"501.*not_implemented.*functions"

# Servers.
with works("Server is true if it answers"):
    assert server
with works("Server.version"):
    assert server.version() == "3.5.0"
with works("Server.version_info"):
    assert server.version_info() == (3, 5, 0)
with works("Server.create"):
    db = server.create("python-tests")
with refused("Server.create of an existing database", couchdb.PreconditionFailed, "file_exists"):
    server.create("python-tests")
with works("name in Server"):
    assert "python-tests" in server and "python-missing" not in server
with works("Server[name]"):
    assert server["python-tests"].name == "python-tests"
with refused("Server[name] of a missing database", ResourceNotFound, ""):
    server["python-missing"]
with works("iter(Server) and len(Server)"):
    assert len(server) == len(list(server)) and "python-tests" in list(server)
with works("Server.uuids"):
    assert len(server.uuids()) == 1 and len(set(server.uuids(count=10))) == 10
with works("Server.tasks"):
    assert server.tasks() == []
# These addresses ended with CouchDB 1, which this package is older than.
with refused("Server.config", ResourceNotFound, "not_found"):
    server.config()
with refused("Server.stats", ResourceNotFound, "not_found"):
    server.stats()
with refused("Server.stats of one name", ResourceNotFound, "not_found"):
    server.stats("httpd/requests")
with works("Server.resource reads what CouchDB has instead"):
    config = server.resource("_node", "_local", "_config").get_json()[2]
    assert config["couchdb"]["max_document_size"]
    stats = server.resource("_node", "_local", "_stats").get_json()[2]
    assert stats["couchdb"]["httpd_request_methods"]["GET"]["value"] > 0

# Documents.
with works("Database.save with a new id"):
    john, rev = db.save({"type": "Person", "name": "John Doe"})
    assert rev.startswith("1-") and db[john]["name"] == "John Doe"
with works("Database[id] = document"):
    doc = db[john]
    doc["name"] = "Mary Jane"
    db[doc.id] = doc
    assert doc["_rev"].startswith("2-") and db[john].rev == doc["_rev"]
with works("Database[id] = new document"):
    db["JohnDoe"] = {"type": "Person", "name": "John Doe"}
with works("id in Database, len(Database), iter(Database)"):
    assert "JohnDoe" in db and "nobody" not in db
    assert len(db) == 2 and sorted(db) == sorted([john, "JohnDoe"])
with works("Database is true if it exists"):
    assert db and not couchdb.Database(url(anna, "python-missing"))
with works("Database.create"):
    assert db.get(db.create({"type": "City"}))["type"] == "City"
with works("Database.get with a default and with parameters"):
    assert db.get("nobody") is None and db.get("nobody", 7) == 7
    assert db.get(john, revs_info=True)["_revs_info"][1]["status"] == "available"
with works("Database.save with batch"):
    assert db.save({"_id": "batch"}, batch="ok") == ("batch", None)
with works("Database.revisions"):
    assert [it["name"] for it in db.revisions(john)] == ["Mary Jane", "John Doe"]
with works("Database.copy to a new document"):
    assert db.copy("JohnDoe", "copy").startswith("1-")
with works("Database.copy to an existing document"):
    assert db.copy("JohnDoe", db["copy"]).startswith("2-")
with refused("Database.delete of an old revision", ResourceConflict, "conflict"):
    db.delete({"_id": john, "_rev": rev})
with works("Database.delete"):
    db.delete(db["copy"])
    assert "copy" not in db
with works("del Database[id]"):
    del db["batch"]
    assert db.get("batch") is None
with works("Database.update"):
    docs = [{"_id": "a", "n": 1}, {"_id": "b", "n": 2}, {"_id": "JohnDoe"}]
    (one, _, rev), (two, _, _), (three, _, error) = db.update(docs)
    assert one and two and not three and isinstance(error, ResourceConflict)
    assert docs[0]["_rev"] == rev
with works("Database.update with new_edits=False"):
    assert db.update([{"_id": "a", "_rev": "1-z", "n": 3}], new_edits=False) == []
    assert db.get("a", conflicts=True)["_conflicts"] == [docs[0]["_rev"]]
with works("Database.info"):
    info = db.info()
    assert info["db_name"] == "python-tests" and info["doc_count"] == len(db)
with works("Database.commit"):
    assert db.commit()["ok"] is True
with works("Database.compact"):
    assert db.compact() is True
with works("Database.security"):
    assert db.security["admins"]["names"] == ["anna"]
with works("Database.security = document"):
    db.security = {"admins": {"names": ["anna"]}, "members": {"names": ["bert"]}}
    assert db.security["members"] == {"names": ["bert"]}
with works("a member reads and writes"):
    mine = couchdb.Server(url(bert))["python-tests"]
    mine["by-bert"] = {}
    assert mine["by-bert"].rev.startswith("1-")
with refused("a member writes no design document", Forbidden, "forbidden"):
    mine["_design/mine"] = {"views": {}}
with refused("a member cannot purge", Forbidden, "forbidden"):
    mine.purge([mine["by-bert"]])
with works("Database.purge"):
    doc = db["by-bert"]
    assert db.purge([doc])["purged"] == {"by-bert": [doc.rev]}
    assert "by-bert" not in db

# Attachments.
with works("Database.put_attachment"):
    doc = db["JohnDoe"]
    db.put_attachment(doc, "Hello", "hello.txt", "text/plain")
    assert doc.rev == db["JohnDoe"].rev
with works("Database.put_attachment of a file"):
    with tempfile.NamedTemporaryFile(suffix=".bin") as file:
        file.write(bytes(range(256)) * 1000)
        file.seek(0)
        db.put_attachment(doc, file, "all.bin")
with works("Database.get_attachment"):
    assert db.get_attachment("JohnDoe", "hello.txt").read() == b"Hello"
    assert db.get_attachment(doc, "all.bin").read() == bytes(range(256)) * 1000
    assert db.get_attachment(doc, "none", 7) == 7
with works("Database.delete_attachment"):
    db.delete_attachment(doc, "all.bin")
    assert list(db["JohnDoe"]["_attachments"]) == ["hello.txt"]

# Queries.
with works("Database.index()[design, name] = fields"):
    indexes = db.index()
    indexes["people", "by-name"] = [{"name": "asc"}]
with works("iter(Database.index())"):
    assert [it["name"] for it in indexes] == ["_all_docs", "by-name"]
with works("Database.find"):
    found = db.find({"selector": {"type": "Person"}, "fields": ["name"], "sort": [{"name": "asc"}]})
    assert [it["name"] for it in found] == ["John Doe", "Mary Jane"]
with works("Database.explain"):
    assert db.explain({"selector": {"name": "x"}})["index"]["name"] == "by-name"
with works("del Database.index()[design, name]"):
    del indexes["people", "by-name"]
    assert [it["name"] for it in indexes] == ["_all_docs"]
with refused("Database.query", ServerError, "410.*Temporary views are not supported"):
    list(db.query("function(doc) { emit(doc._id, null); }"))

# Views.
by_name = "function(doc) { if (doc.name) emit([doc.type, doc.name], 1); }"
with works("ViewDefinition.sync"):
    view = ViewDefinition("people", "by_name", by_name, "_sum")
    assert view.sync(db)[0][:2] == (True, "_design/people")
    assert view.get_doc(db)["views"]["by_name"]["map"] == by_name
with works("ViewDefinition.sync_many"):
    ids = ViewDefinition("people", "ids", "function(doc) { emit(doc._id, doc.n); }")
    ViewDefinition.sync_many(db, [view, ids])
    assert sorted(view.get_doc(db)["views"]) == ["by_name", "ids"]
with works("ViewDefinition called"):
    assert [row.key[1] for row in view(db, reduce=False)] == ["John Doe", "Mary Jane"]
with works("Database.view with rows, total_rows and offset"):
    rows = db.view("people/by_name", reduce=False)[["Person", "L"]:["Person", "Z"]]
    assert [row.key for row in rows] == [["Person", "Mary Jane"]]
    assert (rows.total_rows, rows.offset) == (2, 1)
with works("Database.view of one key, and of several"):
    assert len(db.view("people/ids")["a"]) == 1
    assert [row.id for row in db.view("people/ids", keys=["b", "a"])] == ["b", "a"]
with works("Database.view with a reduction"):
    assert list(db.view("people/by_name"))[0].value == 2
    assert [row.key for row in db.view("people/by_name", group_level=1)] == [["Person"]]
with works("Database.view with documents"):
    assert db.view("people/ids", include_docs=True)["b"].rows[0].doc["n"] == 2
with works("Database.view with a sequence"):
    assert db.view("people/ids", update_seq=True).update_seq == db.info()["update_seq"]
with works("Database.view of all documents"):
    assert db.view("_all_docs", startkey="a", endkey="b").total_rows == len(db)
with works("Database.iterview"):
    ids = [row.id for row in db.iterview("_all_docs", 2)]
    assert ids == list(db)
    assert len(list(db.iterview("people/ids", 1, limit=3))) == 3
with works("Database.info of a design document"):
    assert db.info("people")["name"] == "people"
with works("Database.compact of a design document"):
    assert db.compact("people") is True
with works("Database.cleanup"):
    assert db.cleanup() is True
with refused("a view in Python", ServerError, "501.*not_implemented"):
    ViewDefinition("other", "n", "def f(doc):\n    yield 1, 2", language="python").sync(db)
    list(db.view("other/n"))

# Functions that answer requests.
db["_design/f"] = {
    "shows": {"s": "function(doc, req) { return 'x'; }"},
    "lists": {"l": "function(head, req) { send('x'); }"},
    "updates": {"u": "function(doc, req) { return [null, 'x']; }"},
}
with refused("Database.show", ServerError, NOT_EXECUTED):
    db.show("f/s", "a")
with refused("Database.list", ServerError, NOT_EXECUTED):
    db.list("f/l", "people/ids")
with refused("Database.update_doc", ServerError, NOT_EXECUTED):
    db.update_doc("f/u", "a")

# Changes.
with works("Database.changes"):
    changes = db.changes(since=0)
    assert changes["results"] and changes["last_seq"] == db.info()["update_seq"]
with works("Database.changes of a selector"):
    found = db.changes(filter="_selector", _selector={"selector": {"n": 2}})
    assert [row["id"] for row in found["results"]] == ["b"]
with works("Database.changes continuously"):
    feed = db.changes(feed="continuous", since=changes["last_seq"], heartbeat=1000, timeout=5000)
    db["later"] = {}
    assert next(feed)["id"] == "later"
    feed.close()

# Replication by the server.
with works("Server.replicate"):
    done = server.replicate("python-tests", "python-copy", create_target=True)
    assert done["ok"] and server["python-copy"].info()["doc_count"] == len(db)
with works("Server.replicate between addresses"):
    db["later"] = {**db["later"], "again": True}
    done = server.replicate(url(anna, "python-tests"), url(anna, "python-copy"))
    assert done["ok"] and server["python-copy"]["later"]["again"]
with works("Server.replicate continuously, Server.tasks, and cancelling"):
    begun = server.replicate("python-tests", "python-copy", continuous=True)
    assert begun["ok"] and begun["_local_id"]
    db["replicated"] = {}
    until = time.time() + 20
    while "replicated" not in server["python-copy"]:
        assert time.time() < until
        time.sleep(0.05)
    assert [task["type"] for task in server.tasks()] == ["replication"]
    assert server.replicate("python-tests", "python-copy", continuous=True, cancel=True)["ok"]
    while server.tasks():
        assert time.time() < until
        time.sleep(0.05)
with refused("Server.replicate by a user", Unauthorized, "not a server admin"):
    couchdb.Server(url(bert)).replicate("python-tests", "python-copy")

# Documents with fields, and the tools.


class Person(mapping.Document):
    name = mapping.TextField()
    age = mapping.IntegerField()
    added = mapping.DateTimeField()
    friends = mapping.ListField(mapping.TextField())
    names = mapping.ViewField("mapped", "function(doc) { if (doc.age) emit(doc.name, doc); }",
                              language="javascript")


with works("mapping.Document.store and load"):
    person = Person(name="Carl", age=42, friends=["anna"])
    person.store(db)
    person = Person.load(db, person.id)
    assert (person.age, list(person.friends)) == (42, ["anna"])
    person.friends.append("bert")
    person.store(db)
    assert list(Person.load(db, person.id).friends) == ["anna", "bert"]
with works("mapping.ViewField"):
    Person.names.sync(db)
    assert [it.name for it in Person.names(db)] == ["Carl"]
with works("mapping.Document.view"):
    assert [it.age for it in Person.view(db, "mapped/names")] == [42]
with works("loader.load_design_doc"):
    with tempfile.TemporaryDirectory() as directory:
        design = os.path.join(directory, "loaded")
        os.makedirs(os.path.join(design, "views", "all"))
        with open(os.path.join(design, "_id"), "w") as file:
            file.write("_design/loaded")
        with open(os.path.join(design, "views", "all", "map.js"), "w") as file:
            file.write("function(doc) { emit(doc._id, null); }")
        db.save(loader.load_design_doc(design, strip=True))
    assert len(db.view("loaded/all")) > 0
with works("couchdb-dump and couchdb-load"):
    dumped = io.BytesIO()
    said, sys.stderr = sys.stderr, io.StringIO()
    try:
        dump.dump_db(url(anna, "python-tests"), anna, password, output=dumped)
        dumped.seek(0)
        loaded = server.create("python-loaded")
        load.load_db(dumped, url(anna, "python-loaded"), anna, password)
    finally:
        sys.stderr = said
    assert sorted(loaded) == sorted(db)
    assert loaded.get_attachment("JohnDoe", "hello.txt").read() == b"Hello"

# Sign-in.
with works("Server.login creates a session"):
    signing = couchdb.Server(address)
    assert signing.login("anna", password)
with refused("Server.login with a wrong password", Unauthorized, "unauthorized"):
    signing.login("anna", "wrong")
with works("Server.verify_token and logout with the cookie"):
    # On Python 3 `login` returns the first header instead of the cookie.
    body = {"name": "anna", "password": password}
    headers = signing.resource.post_json("_session", body)[1]
    token = headers["Set-Cookie"].split(";")[0].split("=", 1)[1]
    assert signing.verify_token(token) is True
    with_cookie = {"Cookie": f"AuthSession={token}", "Accept": "application/json"}
    assert signing.resource("python-tests").get_json(headers=with_cookie)[0] == 200
    assert signing.logout(token) is True
with refused("a request after logout", Unauthorized, "unauthorized"):
    signing.resource("python-tests").get_json(headers=with_cookie)

# Users of databases.
with works("Server.add_user"):
    user, rev = server.add_user("carl", "carls-password", roles=["hero"])
    assert user == "org.couchdb.user:carl" and rev.startswith("1-")
with works("Server.login of that user"):
    assert signing.login("carl", "carls-password")
    told = signing.resource.post_json("_session", {"name": "carl", "password": "carls-password"})[2]
    assert told == {"ok": True, "name": "carl", "roles": ["hero"]}
with refused("Server.add_user by a user", ResourceNotFound, ""):
    couchdb.Server(url(bert)).add_user("dora", "doras-password")
with works("Server.remove_user"):
    server.remove_user("carl")
with refused("Server.login of a removed user", Unauthorized, "unauthorized"):
    signing.login("carl", "carls-password")

with works("del Server[name] and Server.delete"):
    del server["python-copy"]
    server.delete("python-loaded")
    server.delete("python-tests")
    assert not {"python-copy", "python-loaded", "python-tests"} & set(server)
with refused("Server.delete of a missing database", ResourceNotFound, "not_found"):
    server.delete("python-tests")

end()
