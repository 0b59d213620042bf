package command

import (
	"encoding/binary"

	"github.com/gavel-ads/gavel/shard/market"
)

// AppendAdjustWallet appends an AdjustWallet.
func AppendAdjustWallet(dst []byte, nowMillis int64, a *AdjustWallet) []byte {
	dst, at := begin(dst, OpAdjustWallet, nowMillis, 0)
	dst = append(dst, a.Request[:]...)
	dst = binary.LittleEndian.AppendUint16(dst, a.Marketplace)
	dst = AppendText(dst, a.VendorID)
	dst = append(dst, a.Wallet[:]...)
	dst = AppendMoney(dst, a.Amount)
	dst = AppendBool(dst, a.Strict)
	return seal(AppendText(dst, a.Description), at)
}

// ReadAdjustWallet reads an AdjustWallet.
func ReadAdjustWallet(c *Command) (a AdjustWallet, err error) {
	d := NewDecoder(c.body)
	a = AdjustWallet{
		Request: d.UUID(), Marketplace: d.U16(), VendorID: d.Text(), Wallet: d.UUID(), Amount: d.Money(),
		Strict: d.Bool(), Description: d.Text(),
	}
	if a.Amount == 0 {
		d.Fail()
	}
	return a, d.Err()
}

// AppendCreateCampaign appends a CreateCampaign.
func AppendCreateCampaign(dst []byte, nowMillis int64, x *CreateCampaign) []byte {
	dst, at := begin(dst, OpCreateCampaign, nowMillis, len(x.Bids))
	dst = AppendCampaign(dst, &x.Campaign)
	for i := range x.Bids {
		dst = AppendBid(dst, &x.Bids[i])
	}
	return sealMore(dst, at, campaignMore(&x.Campaign) != 0 || needsLaterEncoding(x.Bids))
}

// ReadCreateCampaign reads a CreateCampaign.
func ReadCreateCampaign(c *Command) (x CreateCampaign, err error) {
	d := c.decoder()
	x.Campaign = d.Campaign()
	x.Bids = c.bids(&d)
	return x, d.Err()
}

// AppendPutBids appends a PutBids.
func AppendPutBids(dst []byte, nowMillis int64, p *PutBids) []byte {
	dst, at := begin(dst, OpPutBids, nowMillis, len(p.Bids))
	dst = append(dst, p.Campaign[:]...)
	dst = binary.LittleEndian.AppendUint16(dst, p.Marketplace)
	for i := range p.Bids {
		dst = AppendBid(dst, &p.Bids[i])
	}
	return sealMore(dst, at, needsLaterEncoding(p.Bids))
}

// ReadPutBids reads a PutBids.
func ReadPutBids(c *Command) (p PutBids, err error) {
	d := c.decoder()
	p.Campaign = d.UUID()
	p.Marketplace = d.U16()
	p.Bids = c.bids(&d)
	return p, d.Err()
}

func (c *Command) bids(d *Decoder) []market.Bid {
	var all []market.Bid
	for range c.list(d, bidMinLen) {
		all = append(all, d.Bid())
	}
	return all
}

const (
	walletVersion = 3 // The encoding of a PatchCampaign that moves the campaign to another wallet.
	expectVersion = 4 // The encoding of a PatchCampaign with an Expectation.
)

// These bits name the members of a PatchCampaign. Append only.
const (
	patchName = 1 << iota
	patchActive
	patchStart
	patchEnd
	patchBudget
	patchPeriod
	patchROAS
	patchStatus
	patchStatusBy
	patchPrice
	patchDocument
	patchProducts
	patchSegments
	patchSchedule
	patchCaps
	patchWallet // The last bit of the mask.
)

// AppendPatchCampaign appends a PatchCampaign.
func AppendPatchCampaign(dst []byte, nowMillis int64, p *PatchCampaign) []byte {
	dst, at := begin(dst, OpPatchCampaign, nowMillis, 0)
	dst = append(dst, p.Campaign[:]...)
	dst = binary.LittleEndian.AppendUint16(dst, p.Marketplace)
	mask := patchMask(p)
	switch {
	case p.Expect.Members != 0:
		dst[at] = expectVersion
		dst = binary.LittleEndian.AppendUint16(dst, p.Expect.Members)
		dst = binary.LittleEndian.AppendUint64(dst, p.Expect.Version)
	case mask >= patchWallet:
		dst[at] = walletVersion
	case mask >= patchProducts:
		dst[at] = moreVersion
	}
	dst = binary.LittleEndian.AppendUint16(dst, mask)
	return seal(appendPatch(dst, p, mask), at)
}

// appendPatch appends the members in mask. REQUIRES: the patch has all of them.
func appendPatch(dst []byte, p *PatchCampaign, mask uint16) []byte {
	if mask&patchName != 0 {
		dst = AppendText(dst, *p.Name)
	}
	if mask&patchActive != 0 {
		dst = AppendBool(dst, *p.Active)
	}
	if mask&patchStart != 0 {
		dst = AppendMillis(dst, *p.StartMillis)
	}
	if mask&patchEnd != 0 {
		dst = AppendMillis(dst, *p.EndMillis)
	}
	if mask&patchBudget != 0 {
		dst = AppendMoney(dst, *p.Budget)
	}
	if mask&patchPeriod != 0 {
		dst = append(dst, byte(*p.Period))
	}
	if mask&patchROAS != 0 {
		dst = binary.LittleEndian.AppendUint32(dst, *p.TargetROASMilli)
	}
	if mask&patchStatus != 0 {
		dst = append(dst, byte(*p.Status))
	}
	if mask&patchStatusBy != 0 {
		dst = AppendText(dst, *p.StatusUpdatedBy)
	}
	if mask&patchPrice != 0 {
		dst = append(dst, byte(*p.Price))
	}
	if mask&patchDocument != 0 {
		dst = AppendBytes(dst, p.Document)
	}
	return appendPatchMore(dst, p, mask)
}

// appendPatchMore appends the later members of a patch that are in mask.
func appendPatchMore(dst []byte, p *PatchCampaign, mask uint16) []byte {
	if mask&patchProducts != 0 {
		dst = appendTexts(dst, *p.Products)
	}
	if mask&patchSegments != 0 {
		dst = appendSegmentRules(dst, p.Segments)
	}
	if mask&patchSchedule != 0 {
		dst = appendSchedule(dst, *p.Schedule)
	}
	if mask&patchCaps != 0 {
		dst = appendCaps(dst, *p.Caps)
	}
	if mask&patchWallet != 0 {
		dst = append(dst, p.Wallet[:]...)
	}
	return dst
}

func patchMask(p *PatchCampaign) uint16 {
	return maskOf(
		p.Name != nil, p.Active != nil, p.StartMillis != nil, p.EndMillis != nil, p.Budget != nil, p.Period != nil,
		p.TargetROASMilli != nil, p.Status != nil, p.StatusUpdatedBy != nil, p.Price != nil, p.Document != nil,
		p.Products != nil, p.Segments != nil, p.Schedule != nil, p.Caps != nil, p.Wallet != nil,
	)
}

// ReadPatchCampaign reads a PatchCampaign.
func ReadPatchCampaign(c *Command) (p PatchCampaign, err error) {
	d := NewDecoder(c.body)
	p.Campaign = d.UUID()
	p.Marketplace = d.U16()
	if c.Version >= expectVersion {
		if p.Expect = (Expectation{Members: d.U16(), Version: d.U64()}); p.Expect.Members == 0 {
			d.Fail()
		}
	}
	mask := d.U16()
	if c.Version < walletVersion && mask >= patchWallet || c.Version < moreVersion && mask >= patchProducts {
		d.Fail()
	}
	if mask&patchName != 0 {
		p.Name = new(d.Text())
	}
	if mask&patchActive != 0 {
		p.Active = new(d.Bool())
	}
	if mask&patchStart != 0 {
		p.StartMillis = new(d.I64())
	}
	if mask&patchEnd != 0 {
		p.EndMillis = new(d.I64())
	}
	if mask&patchBudget != 0 {
		p.Budget = new(d.Price())
	}
	if mask&patchPeriod != 0 {
		p.Period = new(market.Period(d.Enum(uint8(market.Total) + 1)))
	}
	if mask&patchROAS != 0 {
		p.TargetROASMilli = new(d.U32())
	}
	if mask&patchStatus != 0 {
		p.Status = new(market.Status(d.Enum(uint8(market.Terminated) + 1)))
	}
	if mask&patchStatusBy != 0 {
		p.StatusUpdatedBy = new(d.Text())
	}
	if mask&patchPrice != 0 {
		p.Price = new(market.PriceRule(d.Enum(uint8(market.FirstPrice) + 1)))
	}
	if mask&patchDocument != 0 {
		p.Document = append([]byte{}, d.Bytes()...)
	}
	d.patchMore(&p, mask)
	return p, d.Err()
}

// patchMore reads the later members of a patch that are in mask.
func (d *Decoder) patchMore(p *PatchCampaign, mask uint16) {
	if mask&patchProducts != 0 {
		p.Products = new(d.Texts())
	}
	if mask&patchSegments != 0 {
		p.Segments = new(d.segmentRules())
	}
	if mask&patchSchedule != 0 {
		p.Schedule = new(d.schedule())
	}
	if mask&patchCaps != 0 {
		p.Caps = new(d.caps())
	}
	if mask&patchWallet != 0 {
		p.Wallet = new(d.UUID())
	}
}
