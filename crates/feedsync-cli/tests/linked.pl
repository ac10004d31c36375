#!/usr/bin/perl
# Follows the links of a hub through a gateway in reverse mode with Atompub::Client, an independent AtomPub client.
#
#   perl linked.pl SERVICE  address at the gateway of a service document, whose collection takes entries and pictures
#
# It signs in with ATOMPUB_USER and ATOMPUB_PASSWORD, and prints the Test Anything Protocol. It does everything
# twice. In between it prints a line and waits for a line of input. The hub is stopped before that line.

use strict;
use warnings;

use Atompub::Client;
use Test::More;
use XML::Atom::Entry;

my ($service) = @ARGV;
die "usage: linked.pl SERVICE\n" unless defined $service;
my ($base) = $service =~ m{^(.*/)service$} or die "no service document: $service\n";

# Collects the warnings of the client.
my @warnings;
local $SIG{__WARN__} = sub { push @warnings, @_ };

my $client = Atompub::Client->new;
$client->username($ENV{ATOMPUB_USER});
$client->password($ENV{ATOMPUB_PASSWORD});

sub code { $client->res->code }

sub leads {
    my ($address, $what) = @_;
    like($address, qr{^\Q$base\E}, "$what leads through the gateway");
    return $address;
}

sub entry {
    my ($title) = @_;
    my $entry = XML::Atom::Entry->new(Version => 1.0);
    $entry->title($title);
    $entry->content("What $title says");
    return $entry;
}

# Entries of the collection by title, after all pages were read.
sub listed {
    my ($collection) = @_;
    my %entries;
    my $page = $collection;
    while (defined $page) {
        my $feed = $client->getFeed($page) or fail($client->errstr), return {};
        leads($feed->self_link, 'the feed');
        leads($_->edit_link, $_->title) for $feed->entries;
        $entries{$_->title} = $_ for $feed->entries;
        $page = $feed->next_link;
    }
    return \%entries;
}

sub work {
    my ($when, @others) = @_;
    my $served = $client->getService($service) or return fail($client->errstr);
    my ($notes) = ($served->workspaces)[0]->collections;
    my $collection = leads($notes->href, 'the collection');
    is_deeply([sort keys %{ listed($collection) }], [sort @others], 'the entries so far');

    my $member = $client->createEntry($collection, entry("$when one")) or return fail($client->errstr);
    is(code(), 201, 'created');
    leads($member, 'Location');
    my $link = listed($collection)->{"$when one"}->edit_link;
    for my $title ("$when two", "$when three") {
        my $entry = $client->getEntry($link) or return fail($client->errstr);
        $entry->title($title);
        ok($client->updateEntry($link, $entry), "edited to $title") or return fail($client->errstr);
        ok($client->req->if_match, 'the edit names a version');
    }
    my $other = $client->createEntry($collection, entry("$when other")) or return fail($client->errstr);
    ok($client->deleteEntry($other), 'deleted') or return fail($client->errstr);
    ok(!$client->getEntry($other), 'it is gone');
    is(code(), 410);

    my $picture = join '', map { chr } 0x89, 0x50, 0x4e, 0x47, 0 .. 255;
    # Without a network the response is the picture (BITSY 3.2). The client expects an entry, and dies.
    eval { $client->createMedia($collection, \$picture, 'image/png', "$when cat") };
    is(code(), 201, 'a picture is created');
    leads($client->res->location, 'Location');
    my $feed = $client->getFeed($collection) or return fail($client->errstr);
    my ($media) = grep { $_->title =~ /$when.cat/ } $feed->entries;
    return fail('the picture is in the feed') unless $media;
    is($client->getMedia(leads($media->content->src, 'the picture')), $picture, 'to the byte');
    my $edit = leads($media->edit_media_link, 'the edit link of the picture');
    my $edited = "$picture $when";
    $client->getMedia($edit) or return fail($client->errstr);
    ok($client->updateMedia($edit, \$edited, 'image/png'), 'the picture is edited') or return fail($client->errstr);
    is($client->getMedia($edit), $edited, 'and read');
}

subtest 'with a network' => sub { work('online', 'Bread') };
$| = 1;
print "# with a network\n";
<STDIN>;
subtest 'without a network' => sub { work('offline', 'Bread', 'online three', 'online-cat') };

@warnings = grep { !m{^Bad Content-Type: image/png } } @warnings;
is_deeply(\@warnings, [], 'the client finds nothing odd');
done_testing();
