#!/usr/bin/perl
# Drives a hub through a gateway in reverse mode with Atompub::Client, an independent AtomPub client. The hub
# becomes unavailable meanwhile.
#
#   perl gateway.pl BASE NOTES  BASE replaces the authority of the collection NOTES, which has the entries
#                               Bread and Butter
#
# It signs in with ATOMPUB_USER and ATOMPUB_PASSWORD, and prints the Test Anything Protocol. After it has
# signed in, it prints a line and waits for a line of input. The hub is stopped before that line.

use strict;
use warnings;

use Atompub::Client;
use Test::More;
use XML::Atom::Entry;

my ($base, $notes) = @ARGV;
die "usage: gateway.pl BASE NOTES\n" unless defined $notes;

# Collects the warnings of the client.
my @warnings;
local $SIG{__WARN__} = sub { push @warnings, @_ };

my $client = Atompub::Client->new;
$client->username($ENV{ATOMPUB_USER});
$client->password($ENV{ATOMPUB_PASSWORD});

# Address at the gateway of a resource of the server.
sub at {
    my ($url) = @_;
    $url =~ s{^https?://[^/]+}{$base} unless index($url, $base) == 0;
    return $url;
}

sub code { $client->res->code }

sub entry {
    my ($title) = @_;
    my $entry = XML::Atom::Entry->new(Version => 1.0);
    $entry->title($title);
    $entry->content("What $title says");
    return $entry;
}

# The credentials for the service document also apply to all resources below.
ok($client->getService("$base/service"), 'the service document') or diag($client->errstr);
$| = 1;
print "# signed in\n";
<STDIN>;

my %edit;
subtest 'the feed is here' => sub {
    my $feed = $client->getFeed(at($notes)) or return fail($client->errstr);
    %edit = map { $_->title => at($_->edit_link) } $feed->entries;
    is_deeply([sort keys %edit], [qw(Bread Butter)], 'with its entries');
    like($client->res->request->header('Authorization'), qr/^Basic /, 'for who signs in');
};

subtest 'an entry is created and edited' => sub {
    my $milk = $client->createEntry(at($notes), entry('Milk')) or return fail($client->errstr);
    is(code(), 201);
    my $entry = $client->getEntry($milk) or return fail($client->errstr);
    is($entry->title, 'Milk');
    $entry->title('Oat milk');
    ok($client->updateEntry($milk, $entry), 'edited') or return fail($client->errstr);
    is(code(), 200);
    is($client->getEntry($milk)->title, 'Oat milk');
};

subtest 'an older one is edited' => sub {
    my $entry = $client->getEntry($edit{Bread}) or return fail($client->errstr);
    for my $title ('White bread', 'Rye bread') {
        $entry->title($title);
        ok($client->updateEntry($edit{Bread}, $entry), $title) or return fail($client->errstr);
        $entry = $client->getEntry($edit{Bread}) or return fail($client->errstr);
        is($entry->title, $title);
    }
};

subtest 'another is deleted' => sub {
    ok($client->deleteEntry($edit{Butter}), 'deleted') or return fail($client->errstr);
    is(code(), 204);
    ok(!$client->getEntry($edit{Butter}), 'it is gone');
    is(code(), 410);
};

subtest 'and the feed shows it' => sub {
    my $feed = $client->getFeed(at($notes)) or return fail($client->errstr);
    is_deeply([sort map { $_->title } $feed->entries], ['Oat milk', 'Rye bread']);
};

is_deeply(\@warnings, [], 'the client finds nothing odd');
done_testing();
