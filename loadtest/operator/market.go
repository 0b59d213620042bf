package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

const (
	bidsPerCampaign = 100 // BOUND: a request that creates a campaign has at most 500.
	marketVendors   = 20
)

// market is a marketplace of which every row follows from its number, so that what is read back can be compared without a copy.
// Product i has one bid, in campaign i/100, whose vendor sells it.
type market struct{ products int }

func (m market) campaigns() int { return (m.products + bidsPerCampaign - 1) / bidsPerCampaign }

// bidsOf returns how many bids a campaign has.
func (m market) bidsOf(campaign int) int {
	return min(bidsPerCampaign, m.products-campaign*bidsPerCampaign)
}

func productID(i int) string       { return fmt.Sprintf("product-%07d", i) }
func productName(i int) string     { return fmt.Sprintf("Product %d, \"%d\" ü", i, i%97) }
func productPrice(i int) string    { return fmt.Sprintf("%d.%02d", 1+i%300, 1+i%99) }
func productCategory(i int) string { return fmt.Sprintf("category-%d", i%500) }
func campaignName(k int) string    { return fmt.Sprintf("Campaign %d", k) }
func campaignVendor(k int) string  { return fmt.Sprintf("vendor-%02d", k%marketVendors) }
func vendorOfProduct(i int) string { return campaignVendor(i / bidsPerCampaign) }
func bidAmount(i int) int          { return 1 + i*7%911 }
func numberIn(format, text string) int {
	n := -1
	if _, err := fmt.Sscanf(text, format, &n); err != nil {
		return -1
	}
	return n
}

// importFiles are the files of a market.
type importFiles struct{ vendors, catalog, campaigns string }

// write writes the files as a shop exports them: vendors and catalog as CSV, campaigns with their bids as NDJSON.
func (m market) write(dir string) (f importFiles, err error) {
	f = importFiles{filepath.Join(dir, "vendors.csv"), filepath.Join(dir, "catalog.csv"), filepath.Join(dir, "campaigns.ndjson")}
	return f, errors.Join(writeFile(f.vendors, m.writeVendors), writeFile(f.catalog, m.writeCatalog), writeFile(f.campaigns, m.writeCampaigns))
}

func writeFile(name string, content func(io.Writer)) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	content(w)
	return errors.Join(w.Flush(), f.Close()) // Flush returns the first error of all writes.
}

func (m market) writeVendors(w io.Writer) {
	fmt.Fprintln(w, "id,name")
	for k := range marketVendors {
		fmt.Fprintf(w, "%s,Vendor %d\n", campaignVendor(k), k)
	}
}

func (m market) writeCatalog(w io.Writer) {
	fmt.Fprintln(w, "id,name,vendors,categories,price,metadata")
	for i := range m.products {
		fmt.Fprintf(w, "%s,\"Product %d, \"\"%d\"\" ü\",%s,%s,%s,\"{\"\"colour\"\":\"\"c%d\"\"}\"\n",
			productID(i), i, i%97, vendorOfProduct(i), productCategory(i), productPrice(i), i%7)
	}
}

func (m market) writeCampaigns(w io.Writer) {
	for k := range m.campaigns() {
		fmt.Fprintf(w, `{"vendorId":%q,"name":%q,"campaignType":"manual","bids":[`, campaignVendor(k), campaignName(k))
		for j := range m.bidsOf(k) {
			if j > 0 {
				fmt.Fprint(w, ",")
			}
			i := k*bidsPerCampaign + j
			fmt.Fprintf(w, `{"target":{"type":"product","id":%q},"amount":%d}`, productID(i), bidAmount(i))
		}
		fmt.Fprintln(w, "]}")
	}
}
