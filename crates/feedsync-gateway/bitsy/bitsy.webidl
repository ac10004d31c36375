// The interface of BITSY 0.3.1 in Web IDL. Where the text, appendix B and appendix C of the specification differ,
// it follows the corrections C5, C14, C15, C23 and C39:
//
// - methods of the builder return the builder; addRequestHeader, setProxy, pause and resume exist;
// - supportsProxy is a boolean; an interval is an unsigned short; errors is read-only;
// - states have numbers and names;
// - a SyncEvent has `headers`, and every event has `location` and `subscription`, because the examples and
//   applications use them; binary bodies are available as bytes;
// - lists are iterable.
//
// Additions, because the gateway is another process: `bitsy.ready` and `subscription.ready`.

typedef unsigned long long DOMTimeStamp;

[LegacyNamespace=bitsy, Exposed=Window]
interface Event {
  readonly attribute unsigned short status;
  readonly attribute DOMTimeStamp timeStamp;
  readonly attribute USVString location;
  readonly attribute Subscription subscription;
};

[LegacyNamespace=bitsy, Exposed=Window]
interface StateChangeEvent : Event {
};

[LegacyNamespace=bitsy, Exposed=Window]
interface SyncEvent : Event {
  readonly attribute DOMString method;
  readonly attribute DOMString requestText;
  readonly attribute Uint8Array? requestBody;
  readonly attribute DOMString requestHeaders;
  readonly attribute DOMString responseText;
  readonly attribute Uint8Array? responseBody;
  readonly attribute DOMString responseHeaders;
  readonly attribute DOMString headers;
};

[LegacyNamespace=bitsy, Exposed=Window]
interface Error : SyncEvent {
  undefined clear();
};

callback interface EventListener {
  undefined handleEvent(Event evt);
};

[LegacyNamespace=bitsy, Exposed=Window]
interface ErrorList {
  readonly attribute unsigned long length;
  getter Error? item(unsigned long index);
  iterable<Error>;
};

[LegacyNamespace=bitsy, Exposed=Window]
interface SubscriptionList {
  readonly attribute unsigned long length;
  getter Subscription? item(unsigned long index);
  iterable<Subscription>;
};

[LegacyNamespace=bitsy, Exposed=Window]
interface StringList {
  readonly attribute unsigned long length;
  getter DOMString? item(unsigned long index);
  boolean contains(DOMString string);
  iterable<DOMString>;
};

[LegacyNamespace=bitsy, Exposed=Window]
interface Subscription {
  const unsigned short PAUSED = 0;
  const unsigned short FETCHING = 1;
  const unsigned short WAITING = 2;
  const unsigned short READY = 3;
  const unsigned short CLOSED = 4;

  readonly attribute DOMTimeStamp lastUpdated;
  readonly attribute unsigned short state;
           attribute [EnforceRange] unsigned short interval;
  readonly attribute USVString feed;
  readonly attribute StringList follows;
  readonly attribute ErrorList errors;
           attribute USVString proxy;
  readonly attribute Promise<Subscription> ready;

  StringList getRequestHeaders();
  DOMString? getRequestHeader(DOMString name);

  undefined addFollow(DOMString relation);
  undefined removeFollow(DOMString relation);
  undefined pause();
  undefined resume();
  undefined unsubscribe();

  undefined addStateChangeEventListener(EventListener listener);
  undefined removeStateChangeEventListener(EventListener listener);
  undefined addSyncEventListener(EventListener listener);
  undefined removeSyncEventListener(EventListener listener);
};

[LegacyNamespace=bitsy, Exposed=Window]
interface SubscriptionBuilder {
  SubscriptionBuilder setFeed(USVString url);
  SubscriptionBuilder setRequestHeader(ByteString name, ByteString value);
  SubscriptionBuilder addRequestHeader(ByteString name, ByteString value);
  SubscriptionBuilder setInterval([EnforceRange] unsigned short minutes);
  SubscriptionBuilder addFollow(DOMString relation);
  SubscriptionBuilder setProxy(USVString url);
  Subscription build();
};

[Exposed=Window]
namespace bitsy {
  readonly attribute SubscriptionList subscriptions;
  readonly attribute StringList supportedProxies;
  readonly attribute Promise<undefined> ready;
  boolean supportsProxy(DOMString style);
  SubscriptionBuilder subscriptionBuilder();
};
