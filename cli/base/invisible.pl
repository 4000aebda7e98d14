#!/usr/bin/perl
# SPDX-License-Identifier: MIT
#
# Prints the table of cli/base/invisible.inc from the Unicode data that comes with perl: the code
# points that a terminal shows as nothing, or that change how others are shown. Run it as
#	perl cli/base/invisible.pl >cli/base/invisible.inc
use strict;
use warnings;
use Unicode::UCD;

# A format character that stands for a sign of its own (a number sign before Arabic digits) is seen.
my $invisible = qr/[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Zl}\p{Zp}]|(?!\p{Prepended_Concatenation_Mark})\p{Cf}/;
my ($from, @rows);

for my $code (0 .. 0x110000) {
	no warnings 'utf8';
	my $is_in = $code < 0x110000 && chr($code) =~ $invisible;

	$from = $code if $is_in && !defined $from;
	next if $is_in || !defined $from;
	push @rows, sprintf("{0x%04x, 0x%04x}", $from, $code - 1);
	undef $from;
}
print "/* SPDX-License-Identifier: MIT\n",
	" * Made by invisible.pl from the Unicode Character Database ", Unicode::UCD::UnicodeVersion(), ":\n",
	" * Default_Ignorable_Code_Point; general categories Cc, Cf, Zl and Zp without\n",
	" * Prepended_Concatenation_Mark. */\n";
print "$_,\n" for @rows;
