"""Edits a collection through a gateway with requests, an independent HTTP client, while its hub is unavailable.

    python gateway.py NOTES   NOTES is the address of a collection with the entries Bread, Butter and Cheese

The script signs in with HUB_USER and HUB_PASSWORD. After it has read the collection with a network, it prints a line and
waits for a line of input. The hub is stopped before that line.
"""

import os
import sys
from xml.etree import ElementTree

import requests

ATOM = "{http://www.w3.org/2005/Atom}"

ElementTree.register_namespace("", ATOM[1:-1])
notes = sys.argv[1]
session = requests.Session()
session.auth = (os.environ["HUB_USER"], os.environ["HUB_PASSWORD"])


def ask(method, url, status, entry=None):
    """Sends a request, with an entry or without a body; returns the response, which must have the status."""
    body = headers = None
    if entry is not None:
        headers = {"Content-Type": "application/atom+xml;type=entry"}
        body = ElementTree.tostring(entry)
    response = session.request(method, url, data=body, headers=headers, timeout=20)
    if response.status_code != status:
        sys.exit(f"{method} {url}: {response.status_code} {response.text}")
    return response


def read(url):
    return ElementTree.fromstring(ask("GET", url, 200).content)


def create(title):
    """Creates an entry; returns its address."""
    entry = ElementTree.Element(ATOM + "entry")
    ElementTree.SubElement(entry, ATOM + "title").text = title
    ElementTree.SubElement(entry, ATOM + "content").text = f"What {title} says"
    return ask("POST", notes, 201, entry).headers["Location"]


def edit(url, title):
    """Edits an entry and sends all of it, as clients should (RFC 5023 9.3)."""
    entry = read(url)
    entry.find(ATOM + "title").text = title
    entry.find(ATOM + "content").text = f"What {title} says"
    ask("PUT", url, 200, entry)


def listing():
    """Edit links of the collection by title."""
    return {
        entry.findtext(ATOM + "title"): entry.find(f"{ATOM}link[@rel='edit']").get("href")
        for entry in read(notes).iter(ATOM + "entry")
    }


def check(found, expected):
    if found != expected:
        sys.exit(f"{found} instead of {expected}")


def says(url, title):
    """Checks that the entry at a URL has a title and its content."""
    entry = read(url)
    check(entry.findtext(ATOM + "title"), title)
    check(entry.findtext(ATOM + "content"), f"What {title} says")


links = listing()
check(sorted(links), ["Bread", "Butter", "Cheese"])
says(links["Bread"], "Bread")
print("# with a network", flush=True)
sys.stdin.readline()

check(listing(), links)
says(links["Bread"], "Bread")
milk = create("Milk")
edit(milk, "Oat milk")
says(milk, "Oat milk")
edit(links["Bread"], "Rye bread")
says(links["Bread"], "Rye bread")
ask("DELETE", links["Butter"], 204)
ask("GET", links["Butter"], 410)
create("Eggs")
check(sorted(listing()), ["Cheese", "Eggs", "Oat milk", "Rye bread"])
check(listing()["Rye bread"], links["Bread"])
print("all requests had the expected responses")
