package command

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

const formatIntroduction = `# Format 1

Generated from the tables of this package by ` + "`go test ./shard/command -run TestFormat -rewrite`" + `. It is append only.

A command is a header and a body. The header, little-endian: version u8 (1), kind u8, flags u8, level u8, count u32, the
proposer's clock i64 in Unix milliseconds, CRC-32C u32 of everything else. What the flags name follows the body, in this
order. 2: a notice (marketplace u16, id 16 bytes, value, its length u32). 4: an entry of the audit log (marketplace u16,
id, value, length of the id u8, length of the value u32). 1: an attempt (id 16 bytes, turn seen u64).

A value is its fixed members in order, a mask (uvarint) of the optional members that are not zero, and these members in
order. A patch is a mask of the members that it changes, by number, and their new values. Numbers are little-endian. A
text, a list of text and bytes begin with their length or count as uvarint; so does a list. Amounts are i64 micros.
Events and stage segment have layouts of their own (events.go, segments.go).
`

// TestFormat keeps FORMAT.md equal to the tables, so that a reviewer sees each change of the format in words.
func TestFormat(t *testing.T) {
	var b strings.Builder
	b.WriteString(formatIntroduction)
	b.WriteString("\n## Commands\n\n| Kind | Name | From level |\n|---|---|---|\n")
	for _, x := range []struct {
		op   Op
		name string
	}{
		{OpNoop, "noop"},
		{OpAdvance, advances.name},
		{OpEvents, "events"},
		{OpBootstrap, bootstraps.name},
		{OpPutMarketplace, putMarketplaces.name},
		{OpPutRecords, putRecords.name},
		{OpPutCategories, putCategories.name},
		{OpPutProducts, putProducts.name},
		{OpDeleteCatalog, deleteCatalogs.name},
		{OpAdjustWallet, adjustWallets.name},
		{OpCreateCampaign, createCampaigns.name},
		{OpPatchCampaign, patchCampaigns.name},
		{OpPutBids, putBids.name},
		{OpSetFeature, setFeatures.name},
		{OpStageSegment, "stage segment"},
		{OpCommitSegment, commitSegments.name},
		{OpOpenAccount, openAccounts.name},
		{OpTransfer, transfers.name},
		{OpForgetEmptied, forgetEmptied.name},
		{OpPatchBid, patchBids.name},
		{OpPatchProducts, patchProducts.name},
		{OpMarkVendors, markVendors.name},
		{OpForgetNotices, forgetNotices.name},
		{OpPace, paces.name},
		{OpTraffic, traffics.name},
		{OpCountAuctions, countAuctions.name},
		{OpDecideCredits, decideCredits.name},
		{OpApplyCredits, applyCredits.name},
		{OpCloseCredits, closeCredits.name},
		{OpApplyReturns, applyReturns.name},
		{OpCloseReturns, closeReturns.name},
		{OpReverse, reversals.name},
		{OpLinkUsers, linkUsers.name},
		{OpForgetUser, forgetUsers.name},
		{OpWatchUsers, watchUsers.name},
		{OpForgetMarks, forgetMarks.name},
		{OpDefineSegment, defineSegments.name},
		{OpDecideMembers, decideMembers.name},
		{OpEnrolUsers, enrolUsers.name},
	} {
		fmt.Fprintf(&b, "| %d | %s | %d |\n", x.op, x.name, introduced[x.op])
	}
	for _, write := range []func(*strings.Builder){
		rowsOf(campaigns), rowsOf(segmentRules), rowsOf(segmentMultipliers), rowsOf(caps), rowsOf(bids), rowsOf(triggers),
		rowsOf(creatives), rowsOf(bannerAssets), rowsOf(products), rowsOf(categories), rowsOf(vendors),
		rowsOf(marketplaces), rowsOf(clickRules), rowsOf(experiments), rowsOf(reserveRules), rowsOf(secrets), rowsOf(tokenKeys), rowsOf(records), rowsOf(periods),
		rowsOf(advances), rowsOf(bootstraps), rowsOf(putMarketplaces), rowsOf(putRecords), rowsOf(putCategories),
		rowsOf(putProducts), rowsOf(patchProducts), rowsOf(productPatchEntries), rowsOf(documentMembers),
		rowsOf(deleteCatalogs), rowsOf(createCampaigns), rowsOf(patchCampaigns), rowsOf(expectations),
		rowsOf(putBids), rowsOf(patchBids), rowsOf(adjustWallets), rowsOf(walletIDs), rowsOf(openAccounts), rowsOf(transfers),
		rowsOf(forgetEmptied), rowsOf(commitSegments), rowsOf(markVendors), rowsOf(vendorMarks), rowsOf(setFeatures),
		rowsOf(forgetNotices), rowsOf(noticeIDs), rowsOf(paces), rowsOf(countedReports), rowsOf(paced),
		rowsOf(pacingMemories), rowsOf(returnMemories),
		rowsOf(forgetNotices), rowsOf(noticeIDs), rowsOf(trafficDates), rowsOf(traffics),
		rowsOf(countAuctions), rowsOf(campaignAuctions), rowsOf(lostAuctions),
		rowsOf(decideCredits), rowsOf(creditDecisions), rowsOf(applyCredits), rowsOf(closeCredits), rowsOf(purchaseNames),
		rowsOf(openCredits), rowsOf(creditItems), rowsOf(credits),
		rowsOf(purchases), rowsOf(soldItems), rowsOf(applyReturns), rowsOf(itemReturns), rowsOf(closeReturns), rowsOf(returnedPurchases),
		rowsOf(reversals), rowsOf(reversalParts), rowsOf(linkUsers), rowsOf(forgetUsers),
		rowsOf(watchUsers), rowsOf(forgetMarks), rowsOf(userMarks), rowsOf(defineSegments), rowsOf(decideMembers), rowsOf(memberships), rowsOf(backfills),
	} {
		write(&b)
	}
	const file = "FORMAT.md"
	if *rewrite {
		if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || b.String() != string(want) {
		t.Errorf("%s differs from the tables (%v); run with -rewrite and read the diff", file, err)
	}
}

// rowsOf returns a function that writes the rows of a table.
func rowsOf[S any](t *table[S]) func(*strings.Builder) {
	return func(b *strings.Builder) {
		fmt.Fprintf(b, "\n## %s%s\n\n| Member | Encoding | Number | Written | Patch | From level |\n|---|---|---|---|---|---|\n",
			strings.ToUpper(t.name[:1]), t.name[1:])
		for _, r := range t.rows {
			number, written, patch := "", "always", ""
			if r.number != noNumber {
				number = fmt.Sprint(r.number)
			}
			if r.isOptional {
				written = "unless zero"
			}
			if r.patch != nil {
				patch = "yes"
			}
			fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %d |\n", r.name, r.codec.name, number, written, patch, r.level)
		}
	}
}
