#!/usr/bin/perl
# Drives a hub with Atompub::Client, an independent AtomPub client.
#
#   perl atompub.pl URL         the hub has the collections notes (entries), photos (image/*, entries),
#                               topics (fixed categories) and open (suggested categories)
#
# It signs in if ATOMPUB_USER and ATOMPUB_PASSWORD are set. It prints the Test Anything Protocol.

use strict;
use warnings;
use utf8;

use Atompub::Client;
use HTTP::Request;
use LWP::UserAgent;
use Test::More;
use XML::Atom::Category;
use XML::Atom::Entry;

my ($hub) = @ARGV or die "usage: atompub.pl URL\n";
my ($user, $password) = @ENV{qw(ATOMPUB_USER ATOMPUB_PASSWORD)};

# Collects the warnings of the client.
my @warnings;
local $SIG{__WARN__} = sub { push @warnings, @_ };

my $client = Atompub::Client->new;
if (defined $user) {
    $client->username($user);
    $client->password($password);
}
my %collections;

sub entry {
    my ($title, @categories) = @_;
    my $entry = XML::Atom::Entry->new(Version => 1.0);
    $entry->title($title);
    $entry->content("What $title says");
    for my $term (@categories) {
        my $category = XML::Atom::Category->new(Version => 1.0);
        $category->term($term);
        $category->scheme('urn:topics');
        $entry->add_category($category);
    }
    return $entry;
}

# Another editor, which sends no `If-Match`.
sub elsewhere {
    my ($method, $uri, $type, $body) = @_;
    my $request = HTTP::Request->new($method => $uri);
    $request->authorization_basic($user, $password) if defined $user;
    $request->header('Content-Type' => $type) if defined $type;
    $request->content($body) if defined $body;
    return LWP::UserAgent->new->request($request);
}

sub code { $client->res->code }

subtest 'the service document' => sub {
    my $service = $client->getService("$hub/service") or return fail($client->errstr);
    my @workspaces = $service->workspaces;
    is(@workspaces, 1, 'one workspace');
    for my $collection ($workspaces[0]->collections) {
        my ($name) = $collection->href =~ m{^\Q$hub\E/collections/(\w+)$};
        $collections{$name} = $collection;
        ok($collection->title, "$name has a title");
    }
    is_deeply([sort keys %collections], [qw(notes open photos topics)], 'all collections');
    is_deeply([$collections{notes}->accepts], ['application/atom+xml;type=entry'], 'entries');
    is_deeply([$collections{photos}->accepts], ['image/*', 'application/atom+xml;type=entry'],
        'one accept a media range');
    my ($categories) = $collections{topics}->categories;
    is($categories->fixed, 'yes', 'fixed categories');
    is_deeply([map { $_->term } $categories->category], [qw(bread cheese)], 'inline');
};
my %at = map { $_ => $collections{$_}->href } keys %collections;

subtest 'signing in: WSSE first, then what the hub asks for' => sub {
    my $asked = $client->res->previous;
    if (!defined $user) {
        is($asked, undef, 'nothing was asked for');
        return;
    }
    is($asked->code, 401, 'an unknown scheme is asked for another');
    like($asked->request->header('Authorization'), qr/^WSSE /, 'it was WSSE');
    ok($asked->request->header('X-WSSE'), 'with its own header');
    like($asked->header('WWW-Authenticate'), qr/^Basic /, 'Basic first');
    like($client->res->request->header('Authorization'), qr/^Basic /, 'and Basic it was');
    my $stranger = Atompub::Client->new;
    $stranger->username($user);
    $stranger->password('guessed');
    ok(!$stranger->getFeed($at{notes}), 'another password is refused');
    is($stranger->res->code, 401);
};

my $member;
subtest 'an entry is created, with a slug' => sub {
    my $slug = "Süßes Brot & mehr";
    $member = $client->createEntry($at{notes}, entry('Rye bread'), $slug)
        or return fail($client->errstr);
    is(code(), 201);
    like($member, qr{^\Q$at{notes}\E/items/[^/]+$}, 'Location is the member');
    is($client->res->content_location, $member, 'the body is the member');
    my $entry = $client->rc;
    is($entry->edit_link, $member, 'its edit link');
    is($entry->title, 'Rye bread');
    is($entry->content->body, 'What Rye bread says');
    ok($entry->id, 'an id that the hub made');
    ok($entry->updated, 'and a date');
    like($entry->edited, qr/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/, 'app:edited');
    like($entry->alternate_link, qr{S%C3%BC%C3%9Fes-Brot}, 'the slug is in the address for people');
    ok($client->res->etag, 'a tag');
};

subtest 'what was created is in the cache of the client: 304' => sub {
    my $entry = $client->getEntry($member) or return fail($client->errstr);
    is(code(), 304);
    ok($client->req->if_none_match, 'it asked by tag');
    is($entry->title, 'Rye bread', 'the entry is the one it had');
};

subtest 'two edits in a row, without reading between' => sub {
    for my $title ('White bread', 'Black bread') {
        my $entry = $client->getEntry($member) or return fail($client->errstr);
        $entry->title($title);
        ok($client->updateEntry($member, $entry), $title) or return fail($client->errstr);
        is(code(), 200);
        is($client->rc->title, $title, 'the answer is the new entry');
    }
    my $entry = $client->rc;
    for my $title ('Wholemeal bread', 'Crispbread') {
        $entry->title($title);
        ok($client->updateEntry($member, $entry), $title) or return fail($client->errstr);
        ok($client->req->if_match, 'it named the version');
        $entry = $client->rc;
    }
    is($client->getEntry($member)->title, 'Crispbread');
    is(code(), 304);
};

subtest 'an edit of what somebody else changed is refused' => sub {
    my $entry = $client->getEntry($member);
    my $other = entry('Somebody else\'s')->as_xml;
    is(elsewhere(PUT => $member, 'application/atom+xml;type=entry', $other)->code, 200);
    $entry->title('Mine');
    ok(!$client->updateEntry($member, $entry), 'refused');
    is(code(), 412);
    $entry = $client->getEntry($member) or return fail($client->errstr);
    is(code(), 200, 'the client reads it again');
    is($entry->title, 'Somebody else\'s');
    $entry->title('Ours');
    ok($client->updateEntry($member, $entry), 'and edits that');
};

subtest 'the feed of a collection' => sub {
    my $second = $client->createEntry($at{notes}, entry('Butter')) or return fail($client->errstr);
    my $feed = $client->getFeed($at{notes}) or return fail($client->errstr);
    is($client->res->content_type, 'application/atom+xml');
    is_deeply([map { $_->title } $feed->entries], ['Butter', 'Ours'], 'the newest edit first');
    is_deeply([map { $_->edit_link } $feed->entries], [$second, $member], 'each with its edit link');
    my $old = $client->getEntry($member);
    $old->title('Ours again');
    ok($client->updateEntry($member, $old), 'an edit') or return fail($client->errstr);
    $feed = $client->getFeed($at{notes});
    is_deeply([map { $_->title } $feed->entries], ['Ours again', 'Butter'], 'moves it to the front');
    my @edited = map { $_->edited } $feed->entries;
    ok($edited[0] gt $edited[1], 'app:edited descends');
    ok($client->deleteEntry($second), 'the other one goes');
};

subtest 'an entry is deleted' => sub {
    ok($client->deleteEntry($member), 'deleted') or return fail($client->errstr);
    is($client->req->if_match, undef, 'without a condition');
    is(code(), 204);
    ok(!$client->getEntry($member), 'it is gone');
    is(code(), 410);
    ok(!$client->deleteEntry($member), 'and cannot be deleted again');
    is_deeply([$client->getFeed($at{notes})->entries], [], 'the feed has it no more');
};

my $picture = join '', map { chr } 0x89, 0x50, 0x4e, 0x47, 0 .. 255;
my ($link, $src, $edit_media);
subtest 'media are created with an entry' => sub {
    $link = $client->createMedia($at{photos}, \$picture, 'image/png', 'The cat.png')
        or return fail($client->errstr);
    is(code(), 201);
    my $entry = $client->rc;
    is($entry->edit_link, $link, 'Location is the entry');
    ok($entry->summary, 'a summary');
    is($entry->content->type, 'image/png');
    ($src, $edit_media) = ($entry->content->src, $entry->edit_media_link);
    like($src, qr{The-cat\.png}, 'the slug is in the address of the media');
    my ($got, $type) = $client->getMedia($src);
    is($got, $picture, 'to the byte');
    is($type, 'image/png', 'of the type that was sent');
};

subtest 'media are edited, and the entry beside them' => sub {
    my $edited = $client->getEntry($link)->edited;
    $client->getMedia($edit_media) or return fail($client->errstr);
    for my $turn (1, 2) {
        my $other = "$picture $turn";
        ok($client->updateMedia($edit_media, \$other, 'image/png'), "edit $turn")
            or return fail($client->errstr);
        is(code(), 200);
        is($client->rc, $other, 'the answer is the media');
    }
    is($client->getMedia($edit_media), "$picture 2");
    is(code(), 304, 'from the cache');
    my $entry = $client->getEntry($link) or return fail($client->errstr);
    is(code(), 200, 'the entry changed too');
    ok($entry->edited gt $edited, 'as app:edited says');
    $entry->title('A cat that sleeps');
    ok($client->updateEntry($link, $entry), 'a new title') or return fail($client->errstr);
    is($client->rc->content->src, $src, 'leaves the media where they are');
    is($client->getMedia($edit_media), "$picture 2", 'and as they are');
    is(code(), 304);
};

subtest 'media and entry go together' => sub {
    ok($client->deleteMedia($edit_media), 'deleted') or return fail($client->errstr);
    ok(!$client->getMedia($src), 'the media are gone');
    like(code(), qr/^4(?:04|10)$/);
    ok(!$client->getEntry($link), 'and so is the entry');
    is(code(), 410);
};

subtest 'what is not accepted is refused, by the client and by the hub' => sub {
    my $text = 'plain';
    ok(!$client->createMedia($at{photos}, \$text, 'text/plain'), 'refused');
    like($client->errstr, qr/^Unsupported media type/);
    is($client->req, undef, 'without asking');
    is(elsewhere(POST => $at{photos}, 'text/plain', $text)->code, 415, 'and by the hub');
};

subtest 'categories: fixed ones and others' => sub {
    ok(!$client->createEntry($at{topics}, entry('Meat', 'meat')), 'refused');
    like($client->errstr, qr/^Forbidden category/);
    is($client->req, undef, 'without asking');
    my $refused = elsewhere(POST => $at{topics}, 'application/atom+xml;type=entry',
        entry('Meat', 'meat')->as_xml);
    is($refused->code, 422, 'and by the hub');
    ok($client->createEntry($at{topics}, entry('Rye', 'bread')), 'one of them')
        or return fail($client->errstr);
    is($client->rc->category->term, 'bread');
    ok($client->createEntry($at{open}, entry('Meat', 'meat')), 'any, where they are offered only')
        or return fail($client->errstr);
    my $categories = $client->getCategories("$at{topics}/categories")
        or return fail($client->errstr);
    is($client->res->content_type, 'application/atomcat+xml');
    is_deeply([map { $_->term } $categories->category], [qw(bread cheese)], 'a document of them');
};

is_deeply(\@warnings, [], 'the client finds nothing odd');
done_testing();
