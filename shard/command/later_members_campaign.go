package command

import (
	"encoding/binary"
	"slices"

	"github.com/gavel-ads/gavel/shard/market"
)

// This file encodes the later members (later_members.go) of campaigns and bids.

const (
	campaignProducts = 1 << iota
	campaignSegments
	campaignSchedule
	campaignCaps
	campaignMembers
)

func campaignMore(c *market.Campaign) uint16 {
	s := &c.Segments
	return maskOf(len(c.Products) > 0, len(s.Include)+len(s.Exclude)+len(s.Multipliers) > 0, len(c.Schedule) > 0, len(c.Caps) > 0)
}

func appendCampaignMore(dst []byte, c *market.Campaign) []byte {
	mask := campaignMore(c)
	if mask == 0 {
		return dst
	}
	dst = binary.LittleEndian.AppendUint16(dst, mask)
	if mask&campaignProducts != 0 {
		dst = appendTexts(dst, c.Products)
	}
	if mask&campaignSegments != 0 {
		dst = appendSegmentRules(dst, &c.Segments)
	}
	if mask&campaignSchedule != 0 {
		dst = appendSchedule(dst, c.Schedule)
	}
	if mask&campaignCaps != 0 {
		dst = appendCaps(dst, c.Caps)
	}
	return dst
}

func (d *Decoder) campaignMore(c *market.Campaign) {
	mask := d.mask(campaignMembers)
	if mask&campaignProducts != 0 {
		c.Products = d.Texts()
	}
	if mask&campaignSegments != 0 {
		c.Segments = d.segmentRules()
	}
	if mask&campaignSchedule != 0 {
		c.Schedule = d.schedule()
	}
	if mask&campaignCaps != 0 {
		c.Caps = d.caps()
	}
}

func appendSegmentRules(dst []byte, s *market.SegmentRules) []byte {
	dst = appendTexts(appendTexts(dst, s.Include), s.Exclude)
	dst = binary.AppendUvarint(dst, uint64(len(s.Multipliers)))
	for _, x := range s.Multipliers {
		dst = binary.LittleEndian.AppendUint32(AppendText(dst, x.Segment), x.Multiplier)
	}
	return dst
}

func (d *Decoder) segmentRules() (s market.SegmentRules) {
	s.Include, s.Exclude = d.Texts(), d.Texts()
	for range d.Count(5) {
		s.Multipliers = append(s.Multipliers, market.SegmentMultiplier{Segment: d.Text(), Multiplier: d.U32()})
	}
	if max(len(s.Include), len(s.Exclude), len(s.Multipliers)) > market.SegmentRulesMax {
		d.Fail()
	}
	return s
}

// appendSchedule appends the values for the hours of a week; without a schedule it appends one byte.
func appendSchedule(dst []byte, hours []uint16) []byte {
	dst = AppendBool(dst, len(hours) > 0)
	for _, value := range hours {
		dst = binary.LittleEndian.AppendUint16(dst, value)
	}
	return dst
}

func (d *Decoder) schedule() []uint16 {
	if !d.Bool() {
		return nil
	}
	if len(d.rest) < 2*market.ScheduleHours {
		d.Fail()
		return nil
	}
	hours := make([]uint16, market.ScheduleHours)
	for i := range hours {
		if hours[i] = d.U16(); hours[i] > market.ScheduleMax {
			d.Fail()
		}
	}
	return hours
}

func appendCaps(dst []byte, caps []market.Cap) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(caps)))
	for _, c := range caps {
		dst = binary.LittleEndian.AppendUint32(append(dst, c.Type), c.Limit)
	}
	return dst
}

func (d *Decoder) caps() (caps []market.Cap) {
	for range d.Count(5) {
		c := market.Cap{Type: d.U8(), Limit: d.U32()}
		if c.Type == 0 || c.Type > market.RestrictionTypes {
			d.Fail()
		}
		caps = append(caps, c)
	}
	if len(caps) > market.RestrictionTypes {
		d.Fail()
	}
	return caps
}

const (
	bidTargetType = 1 << iota
	bidCreative
	bidMembers
)

// needsLaterEncoding reports whether one of the bids has later members or a keyword trigger.
func needsLaterEncoding(bids []market.Bid) bool {
	return slices.ContainsFunc(bids, func(b market.Bid) bool {
		return bidMore(&b) != 0 || slices.ContainsFunc(b.Triggers, func(t market.Trigger) bool { return t.Kind.IsKeyword() })
	})
}

func bidMore(b *market.Bid) uint16 {
	return maskOf(b.TargetType != market.TargetProduct, b.Creative != nil)
}

func appendBidMore(dst []byte, b *market.Bid) []byte {
	mask := bidMore(b)
	if mask == 0 {
		return dst
	}
	dst = binary.LittleEndian.AppendUint16(dst, mask)
	if mask&bidTargetType != 0 {
		dst = append(dst, byte(b.TargetType))
	}
	if mask&bidCreative != 0 {
		dst = appendCreative(dst, b.Creative)
	}
	return dst
}

func (d *Decoder) bidMore(b *market.Bid) {
	mask := d.mask(bidMembers)
	if mask&bidTargetType != 0 {
		b.TargetType = market.TargetType(d.Enum(uint8(market.TargetTypes)))
	}
	if mask&bidCreative != 0 {
		b.Creative = d.creative()
	}
}

const assetMinLen = 14

func appendCreative(dst []byte, c *market.Creative) []byte {
	dst = AppendText(dst, c.Place)
	dst = append(dst, byte(c.Device))
	dst = binary.AppendUvarint(dst, uint64(len(c.Assets)))
	for i := range c.Assets {
		a := &c.Assets[i]
		dst = AppendText(AppendText(dst, a.URL), a.ContentType)
		dst = binary.LittleEndian.AppendUint32(dst, a.Dimensions.Width)
		dst = binary.LittleEndian.AppendUint32(dst, a.Dimensions.Height)
		dst = binary.AppendUvarint(dst, a.Bytes)
		dst = AppendBytes(AppendText(dst, a.AssetID), a.Content)
		dst = AppendText(dst, a.TemplateID)
	}
	dst = AppendText(AppendText(dst, c.TemplateID), c.Title)
	return appendTexts(AppendBytes(dst, c.Content), c.Products)
}

func (d *Decoder) creative() *market.Creative {
	c := &market.Creative{Place: d.Text(), Device: market.Device(d.Enum(uint8(market.Devices)))}
	for range d.Count(assetMinLen) {
		c.Assets = append(c.Assets, market.BannerAsset{
			URL: d.Text(), ContentType: d.Text(), Dimensions: market.Dimensions{Width: d.U32(), Height: d.U32()},
			Bytes: d.Uvarint(), AssetID: d.Text(), Content: d.Copy(), TemplateID: d.Text(),
		})
	}
	c.TemplateID, c.Title, c.Content, c.Products = d.Text(), d.Text(), d.Copy(), d.Texts()
	if len(c.Assets) > market.AssetsMax || len(c.Products) > market.CreativeProductMax {
		d.Fail()
	}
	return c
}
